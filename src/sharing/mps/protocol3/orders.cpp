#include "mps/protocol3/orders.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "offer/mps.h"

namespace tranche::mps {
namespace {

const std::string kServer(offer::kMpsServer);
// Columns of `server list`: name, user, process, status, pipe folder, ...
constexpr std::size_t kStatusColumn = 3;
// Columns of `device list`: number, server, PCI address, UUID, name, multiprocessors, chunks, ...
constexpr std::size_t kUuidColumn = 3;
constexpr std::size_t kChunksColumn = 6;

// The namespace's limits as a table of the configuration file.
std::string limits_text(const Namespace& one) {
  std::string text;
  if (one.limit_mib) text += fmt::format("pinned_memory_limit = \"{}M\"\n", *one.limit_mib);
  return text + fmt::format("active_thread_percentage = \"{}\"\n", one.thread_percentage);
}

std::uint64_t largest_device(const Daemon& daemon) {
  std::uint64_t most = 0;
  for (const DaemonDevice& device : daemon.devices) most = std::max(most, device.memory_mib);
  return most;
}

Order with_arguments(std::vector<std::string> arguments) {
  return {.arguments = std::move(arguments), .input = {}};
}

Order set_order(const Namespace& one, const Daemon& daemon) {
  Order order = with_arguments(
      one.name == offer::kMpsDefault
          ? std::vector<std::string>{"server", "set", kServer}
          : std::vector<std::string>{"namespace", "set", one.name, "--server=" + kServer});
  // A limit that was removed is set to all of the device: there is no argument to remove one.
  const auto limit = one.limit_mib.value_or(largest_device(daemon));
  if (limit > 0) order.arguments.push_back(fmt::format("--pinned-memory-limit={}M", limit));
  order.arguments.push_back(fmt::format("--active-thread-percentage={}", one.thread_percentage));
  return order;
}

// The columns of a line of --format=csv, without surrounding blanks.
std::vector<std::string> csv_columns(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream text(line);
  for (std::string one; std::getline(text, one, ',');) {
    const auto from = one.find_first_not_of(" \t\r");
    const auto to = one.find_last_not_of(" \t\r");
    all.push_back(from == one.npos ? std::string() : one.substr(from, to - from + 1));
  }
  return all;
}

// The last column of a truncated line may be truncated too, so another must follow.
bool is_whole(const std::vector<std::string>& row, std::size_t column) {
  return row.size() > column + 1;
}

}  // namespace

std::string configuration(const Daemon& daemon) {
  std::vector<std::string_view> uuids;
  uuids.reserve(daemon.devices.size());
  for (const DaemonDevice& device : daemon.devices) uuids.push_back(device.uuid);
  std::string text = fmt::format(
      "# of tranche mps-control-daemon: written anew at each start\n"
      "schema_version = \"1.0\"\n\n[servers.{}]\nallowed_devices = \"{}\"\n",
      kServer, fmt::join(uuids, ","));
  for (const Namespace& one : daemon.namespaces) {
    if (one.name != offer::kMpsDefault) {
      text += fmt::format("\n[servers.{}.namespaces.{}]\n", kServer, one.name);
    }
    text += limits_text(one);
  }
  return text;
}

Order start_order(const std::string& config) {
  return with_arguments({"-d", "-p", "3", "-m", "-a", config});
}

Order server_list_order() { return with_arguments({"server", "list", "--format=csv,noheader"}); }

std::string status_of(const std::string& answer) {
  std::istringstream lines(answer);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kServer + ",")) continue;
    const auto row = csv_columns(line);
    return is_whole(row, kStatusColumn) ? row[kStatusColumn] : std::string();
  }
  return {};
}

std::vector<Order> change_orders(const Daemon& before, const Daemon& daemon) {
  std::vector<Order> all;
  for (const Namespace& one : daemon.namespaces) {
    const auto old = std::ranges::find(before.namespaces, one.name, &Namespace::name);
    const bool is_new = old == before.namespaces.end();
    if (!is_new && *old == one) continue;
    if (is_new) {
      all.push_back(with_arguments({"namespace", "create", one.name, "--server=" + kServer}));
    }
    all.push_back(set_order(one, daemon));
  }
  return all;
}

Order device_list_order() {
  return with_arguments({"device", "list", "--server=" + kServer, "--format=csv,noheader"});
}

std::optional<int> listed_chunks(const std::string& line, std::string_view uuid) {
  const auto row = csv_columns(line);
  if (!is_whole(row, kChunksColumn) || row[kUuidColumn] != uuid) return std::nullopt;
  return count_in(row[kChunksColumn]);
}

Order create_partition_order(const std::string& uuid, int replica, int chunks) {
  return with_arguments({"sm-partition", "create", fmt::format("tranche_{}", replica),
                         "--server=" + kServer, "--device=" + uuid,
                         fmt::format("--chunks={}", chunks)});
}

}  // namespace tranche::mps
