#pragma once
// What attribution (agent/metrics/attribution.h) knows of one container on one device, while it
// works. Values.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/metrics/attributed_container.h"
#include "gpu/machine.h"
#include "gpu/telemetry.h"
#include "limit/arbiter_status.h"

namespace tranche::agent {

struct RowKey {
  std::string ns;
  std::string pod;
  std::string container;
  std::string device;
  std::string resource;
  auto operator<=>(const RowKey&) const = default;
};

struct UsageRow {
  AttributedContainer made;
  std::string pod_uid;               // as the node's control groups name it
  std::vector<std::string> tenants;  // each once
  unsigned processes = 0;
  std::uint64_t memory = 0;
  bool is_told = true;     // the driver tells the memory of all its processes
  bool is_certain = true;  // no process may be its own or another container's of the Pod
  bool is_read = false;    // the driver's list tells its processes
};
using UsageRows = std::map<RowKey, UsageRow>;

// Of one device's processes that are no container's.
struct DeviceSums {
  std::uint64_t host = 0;
  std::uint64_t unknown = 0;
  bool has_unknown = false;  // some may be anybody's
};
// By device; missing: its processes were not read.
using SumsByDevice = std::map<std::string, DeviceSums>;

// A tenant may write any number, so that sums stay where they are most.
void add_to(std::optional<std::uint64_t>& sum, std::uint64_t more);
void add_time(std::optional<std::chrono::nanoseconds>& sum, std::uint64_t ns);

// Adds what the arbiter counts of each row's tenants. Several containers of one tenant (they share
// a claim) are not told apart there: of these it says nothing. `arbiter` null: it does not run.
void add_arbiters_counts(UsageRows& rows, const limit::ArbiterStatus* arbiter);

// Where the memory is of each GPU whose memory was read.
std::vector<usage::MemoryAccount> memory_accounts(
    const gpu::Machine& machine, const std::map<std::string, gpu::MemoryFigures>& memory,
    const UsageRows& rows, const SumsByDevice& sums);

}  // namespace tranche::agent
