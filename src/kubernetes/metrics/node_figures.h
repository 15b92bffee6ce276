#pragma once
// All that a page of metrics says of a node at one moment, as a value. Sizes are bytes. What is not
// known is nullopt, which becomes no series; it is never 0.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/machine.h"
#include "gpu/telemetry.h"
#include "usage/node_usage.h"

namespace tranche::metrics {

// One GPU of the machine. Readings are gone once they are too old to be shown.
struct GpuFigures {
  gpu::Gpu gpu;
  std::optional<gpu::FastReading> fast{};
  std::optional<gpu::SlowReading> slow{};
  std::optional<std::uint64_t> last_xid{};  // nullopt: none since the agent started
};

// Whether the node serves the configuration that it is asked to.
enum class Configuration {
  kCurrent,
  kOlder,    // the one asked for was refused
  kDefault,  // none is asked for
};

struct NodeFigures {
  std::string node;            // empty: unknown
  std::string driver_version;  // "570.158.01"
  std::vector<GpuFigures> gpus{};
  std::vector<usage::ContainerFigures> containers{};
  std::vector<usage::ProcessUsage> processes{};  // no series: a process is too short-lived
  std::vector<usage::MemoryAccount> memory{};
  std::vector<usage::TrancheCount> tranches{};
  std::vector<usage::Check> checks{};
  std::optional<Configuration> configuration{};        // nullopt: what is asked for is not known
  std::optional<std::chrono::nanoseconds> fast_age{};  // of the readings; nullopt: none yet
  std::optional<std::chrono::nanoseconds> slow_age{};
};

}  // namespace tranche::metrics
