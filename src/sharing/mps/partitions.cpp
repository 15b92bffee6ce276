#include "mps/partitions.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::mps {
Result<int> chunks_each(const Daemon& daemon, const DaemonDevice& device, int total) {
  const int* asked = std::get_if<int>(&daemon.partitions);
  const int each = asked != nullptr ? *asked : total / std::max(1, device.replicas);
  if (each >= 1 && each * device.replicas <= total) return each;
  return fail(
      Code::kFailedPrecondition,
      fmt::format("tranche.mps.smPartitions: {} has {} chunks of multiprocessors, and {} replicas "
                  "with {} need {}",
                  device.uuid, total, device.replicas, std::max(each, 1),
                  device.replicas * std::max(each, 1)),
      "lower smPartitions or `replicas`, or write equal");
}

// The answer is "CUDA_MPS_SM_PARTITION=<uuid>/<name>", "<uuid>/<name>" or "Partition <uuid>/<name>
// created". A name with nothing behind it, not even the line's end, is torn.
std::optional<std::string> partition_of(std::string_view answer, std::string_view uuid) {
  const auto at = answer.find(fmt::format("{}/", uuid));
  if (at == answer.npos) return std::nullopt;
  auto value = answer.substr(at);
  const auto end = value.find_first_of(" \t\r\n");
  if (end == value.npos || end == uuid.size() + 1) return std::nullopt;
  return std::string(value.substr(0, end));
}

}  // namespace tranche::mps
