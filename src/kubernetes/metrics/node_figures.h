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

namespace tranche::metrics {

// One GPU of the machine. Readings are gone once they are too old to be shown.
struct GpuFigures {
  gpu::Gpu gpu;
  std::optional<gpu::FastReading> fast{};
  std::optional<gpu::SlowReading> slow{};
  std::optional<std::uint64_t> last_xid{};  // nullopt: none since the agent started
};

// How a container shares its device.
enum class Mechanism { kExclusive, kMig, kTimeSlicing, kMps, kShare };
// "exclusive", "mig", "time-slicing", "mps", "share".
std::string_view to_string(Mechanism mechanism);

// What one container has of one device, through all of its tranches there.
struct ContainerFigures {
  std::string ns;
  std::string pod;
  std::string container;
  std::string resource;  // "nvidia.com/gpu"
  Mechanism mechanism = Mechanism::kExclusive;
  std::string gpu;          // UUID
  std::string device;       // UUID: the GPU's, or a MIG instance's
  std::string mig_profile;  // empty: no MIG instance
  double gpus = 1;          // part of a physical GPU that it was given: 0.25 of four replicas
  // Whether its processes are told apart from others'. If not, what they use is unknown.
  bool attributed = false;
  std::optional<std::uint32_t> processes{};
  std::optional<std::uint64_t> memory_used{};
  std::optional<std::uint64_t> memory_peak{};   // largest memory_used since the agent started
  std::optional<std::uint64_t> memory_limit{};  // nullopt: unlimited
  std::optional<double> compute_promised{};     // part of the device's time, 0 to 1
  // GPU time charged by the arbiter, and estimated from the driver's samples; never both.
  std::optional<std::chrono::nanoseconds> compute{};
  std::optional<std::chrono::nanoseconds> compute_estimated{};
  std::optional<std::chrono::nanoseconds> compute_asked{};  // for which it launched work
  std::optional<std::chrono::nanoseconds> waited{};         // with a thread that waited for the GPU
  std::optional<std::uint64_t> launches{};
  std::optional<std::uint64_t> allocation_failures{};
};

// Where a GPU's memory is. The parts that are known add up to `total`.
struct MemoryAccount {
  std::string gpu;  // UUID
  std::uint64_t total = 0;
  std::uint64_t free = 0;
  std::uint64_t reserved = 0;        // the driver's
  std::uint64_t containers = 0;      // of containers that are known
  std::uint64_t host_processes = 0;  // of processes that are in no Pod
  std::uint64_t unknown = 0;         // of processes whose container is not known
  std::uint64_t unattributed = 0;    // used, and no process's by the driver's list
  // NVML counted more for the processes than is used: they changed between two calls.
  std::uint64_t excess = 0;
};

// Tranches of one resource on this node.
struct TrancheCount {
  std::string resource;
  Mechanism mechanism = Mechanism::kExclusive;
  std::uint64_t advertised = 0;
  std::uint64_t allocated = 0;
  std::uint64_t withheld = 0;  // unhealthy, or held in another way
};

// Whether a source of attribution works.
struct Check {
  std::string name;  // "host-processes", "control-groups", "pods", "kubelet", "driver", "arbiter"
  bool works = false;
};

struct NodeFigures {
  std::string node;            // empty: unknown
  std::string driver_version;  // "570.158.01"
  std::vector<GpuFigures> gpus{};
  std::vector<ContainerFigures> containers{};
  std::vector<MemoryAccount> memory{};
  std::vector<TrancheCount> tranches{};
  std::vector<Check> checks{};
  std::optional<std::chrono::nanoseconds> fast_age{};  // of the readings; nullopt: none yet
  std::optional<std::chrono::nanoseconds> slow_age{};
};

}  // namespace tranche::metrics
