#include "mps/partitions.h"

#include <fmt/format.h>

#include <charconv>
#include <sstream>

#include "offer/mps.h"

namespace tranche::mps {
namespace {

// Columns of protocol 3's `device list`.
constexpr std::size_t kUuidColumn = 3;
constexpr std::size_t kChunksColumn = 6;
// Columns of protocol 2's `lspart`: GPU, partition, free chunks, used chunks, ...
constexpr std::size_t kPartitionColumn = 1;
constexpr std::size_t kFreeColumn = 2;
constexpr std::size_t kUsedColumn = 3;
// A UUID as `lspart` may shorten it has at least its first group.
constexpr std::size_t kShortestUuid = std::string_view("GPU-01234567").size();

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::vector<std::string> columns(const std::string& line, char at) {
  std::vector<std::string> all;
  std::istringstream text(line);
  for (std::string one; std::getline(text, one, at);) {
    const auto from = one.find_first_not_of(" \t\r");
    const auto to = one.find_last_not_of(" \t\r");
    if (from != one.npos) {
      all.push_back(one.substr(from, to - from + 1));
    } else if (at == ',') {
      all.emplace_back();
    }
  }
  return all;
}

std::optional<int> listed_chunks(const std::vector<std::string>& row, std::string_view uuid) {
  if (row.size() <= kChunksColumn || row[kUuidColumn] != uuid) return std::nullopt;
  return number(row[kChunksColumn]);
}

std::optional<int> lspart_chunks(const std::vector<std::string>& row, std::string_view uuid) {
  if (row.size() <= kUsedColumn || row[0].size() < kShortestUuid || !uuid.starts_with(row[0]) ||
      row[kPartitionColumn] != "-") {
    return std::nullopt;
  }
  const auto free = number(row[kFreeColumn]);
  const auto used = number(row[kUsedColumn]);
  if (!free || !used) return std::nullopt;
  return *free + *used;
}

}  // namespace

Order chunks_question(const Daemon& daemon) {
  if (daemon.protocol != 3) return {.arguments = {}, .input = "lspart"};
  return {.arguments = {"device", "list", fmt::format("--server={}", offer::kMpsServer),
                        "--format=csv,noheader"},
          .input = {}};
}

std::optional<int> chunks_of(const Daemon& daemon, std::string_view answer, std::string_view uuid) {
  std::istringstream lines{std::string(answer)};
  for (std::string line; std::getline(lines, line);) {
    const auto found = daemon.protocol == 3 ? listed_chunks(columns(line, ','), uuid)
                                            : lspart_chunks(columns(line, ' '), uuid);
    if (found) return found;
  }
  return std::nullopt;
}

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

Order add_partition(const Daemon& daemon, const DaemonDevice& device, int replica, int chunks) {
  if (daemon.protocol != 3) {
    return {.arguments = {}, .input = fmt::format("sm_partition add {} {}", device.uuid, chunks)};
  }
  return {.arguments = {"sm-partition", "create", fmt::format("tranche_{}", replica),
                        fmt::format("--server={}", offer::kMpsServer), "--device=" + device.uuid,
                        fmt::format("--chunks={}", chunks)},
          .input = {}};
}

// "CUDA_MPS_SM_PARTITION=<uuid>/<name>", "<uuid>/<name>" or "Partition <uuid>/<name> created".
std::optional<std::string> partition_of(std::string_view answer, std::string_view uuid) {
  const auto at = answer.find(fmt::format("{}/", uuid));
  if (at == answer.npos) return std::nullopt;
  auto value = answer.substr(at);
  value = value.substr(0, value.find_first_of(" \t\r\n"));
  if (value.size() == uuid.size() + 1) return std::nullopt;
  return std::string(value);
}

}  // namespace tranche::mps
