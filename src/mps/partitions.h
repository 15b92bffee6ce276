#pragma once
// Static SM partitions: the chunks of multiprocessors that a control daemon cuts its GPUs into, one
// partition for each tranche. A partition is a client's by CUDA_MPS_SM_PARTITION, whose value the
// daemon tells when it makes one (and which says something else with each protocol); a client
// without one gets no context. Pure: what is asked of NVIDIA's program, and what its answers say.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mps/plan.h"

namespace tranche::mps {

// One call of the program: arguments, or a line for its shell (protocol 2).
struct Order {
  std::vector<std::string> arguments;
  std::string input;
  bool operator==(const Order&) const = default;
};

// What a daemon's GPUs have; and of the answer how many chunks `uuid` has in all. nullopt: it does
// not say so.
Order chunks_question(const Daemon& daemon);
std::optional<int> chunks_of(const Daemon& daemon, std::string_view answer, std::string_view uuid);

// How many chunks each of the device's tranches gets of `total`. kFailedPrecondition: there are not
// as many; the message says how many there are.
Result<int> chunks_each(const Daemon& daemon, const DaemonDevice& device, int total);

// Makes the partition of tranche `replica`; and of the answer the value of CUDA_MPS_SM_PARTITION.
Order add_partition(const Daemon& daemon, const DaemonDevice& device, int replica, int chunks);
std::optional<std::string> partition_of(std::string_view answer, std::string_view uuid);

}  // namespace tranche::mps
