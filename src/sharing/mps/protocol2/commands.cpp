#include "mps/protocol2/commands.h"

#include <fmt/format.h>

#include <limits>
#include <sstream>
#include <utility>

#include "mps/order.h"

namespace tranche::mps {
namespace {

// Columns of `lspart`: GPU, partition, free chunks, used chunks, ...
constexpr std::size_t kPartitionColumn = 1;
constexpr std::size_t kFreeColumn = 2;
constexpr std::size_t kUsedColumn = 3;
// `lspart` may shorten a UUID, but at least its first group remains.
constexpr std::size_t kShortestUuid = std::string_view("GPU-01234567").size();

// A limit that was removed is set to all of the device: MPS has no command to remove one.
std::vector<std::pair<int, std::uint64_t>> memory_changes(const Daemon& before,
                                                          const Daemon& daemon) {
  std::vector<std::pair<int, std::uint64_t>> changes;
  for (std::size_t i = 0; i < daemon.devices.size(); ++i) {
    const DaemonDevice& device = daemon.devices[i];
    if (device.limit_mib == before.devices[i].limit_mib) continue;
    const auto limit = device.limit_mib.value_or(device.memory_mib);
    if (limit > 0) changes.emplace_back(device.index, limit);
  }
  return changes;
}

}  // namespace

std::vector<std::string> default_commands(const Daemon& daemon) {
  std::vector<std::string> commands;
  for (const DaemonDevice& device : daemon.devices) {
    if (!device.limit_mib) continue;
    commands.push_back(
        fmt::format("set_default_device_pinned_mem_limit {} {}M", device.index, *device.limit_mib));
  }
  commands.push_back(
      fmt::format("set_default_active_thread_percentage {}", daemon.thread_percentage));
  return commands;
}

std::vector<std::string> retune_commands(const Daemon& before, const Daemon& daemon) {
  std::vector<std::string> commands;
  for (const auto& [index, limit] : memory_changes(before, daemon)) {
    commands.push_back(fmt::format("set_default_device_pinned_mem_limit {} {}M", index, limit));
  }
  if (before.thread_percentage != daemon.thread_percentage) {
    commands.push_back(
        fmt::format("set_default_active_thread_percentage {}", daemon.thread_percentage));
  }
  return commands;
}

std::vector<std::string> retune_server_commands(const Daemon& before, const Daemon& daemon,
                                                const std::string& server) {
  std::vector<std::string> commands;
  for (const auto& [index, limit] : memory_changes(before, daemon)) {
    commands.push_back(fmt::format("set_device_pinned_mem_limit {} {} {}M", server, index, limit));
  }
  if (before.thread_percentage != daemon.thread_percentage) {
    commands.push_back(
        fmt::format("set_active_thread_percentage {} {}", server, daemon.thread_percentage));
  }
  return commands;
}

std::optional<int> lspart_chunks(const std::string& line, std::string_view uuid) {
  std::vector<std::string> row;
  std::istringstream columns(line);
  for (std::string column; columns >> column;) row.push_back(column);
  // A truncated line ends within a column, so another must follow.
  if (row.size() <= kUsedColumn + 1 || row[0].size() < kShortestUuid || !uuid.starts_with(row[0]) ||
      row[kPartitionColumn] != "-") {
    return std::nullopt;
  }
  const auto free = count_in(row[kFreeColumn]);
  const auto used = count_in(row[kUsedColumn]);
  if (!free || !used || *free > std::numeric_limits<int>::max() - *used) return std::nullopt;
  return *free + *used;
}

}  // namespace tranche::mps
