#include "mps/protocol3.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "offer/mps.h"

namespace tranche::mps {
namespace {

const std::string kServer(offer::kMpsServer);

// As a table of the file.
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

Arguments set_arguments(const Namespace& one, const Daemon& daemon) {
  Arguments all = one.name == offer::kMpsDefault
                      ? Arguments{"server", "set", kServer}
                      : Arguments{"namespace", "set", one.name, "--server=" + kServer};
  // A limit that is no more is told as all of the device: there is no word to take one away.
  const auto limit = one.limit_mib.value_or(largest_device(daemon));
  if (limit > 0) all.push_back(fmt::format("--pinned-memory-limit={}M", limit));
  all.push_back(fmt::format("--active-thread-percentage={}", one.thread_percentage));
  return all;
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

Arguments start_arguments(const std::string& config) {
  return {"-d", "-p", "3", "-m", "-a", config};
}

Arguments quit_arguments() { return {"-q"}; }

Arguments servers_question() { return {"server", "list", "--format=csv,noheader"}; }

// name,uid,pid,status,...
std::string status_of(std::string_view answer) {
  constexpr int kStatusColumn = 3;
  std::istringstream lines{std::string(answer)};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kServer + ",")) continue;
    std::istringstream columns(line);
    std::string column;
    for (int i = 0; i <= kStatusColumn && std::getline(columns, column, ','); ++i) {
    }
    return column;
  }
  return {};
}

std::vector<Arguments> change_arguments(const Daemon& before, const Daemon& daemon) {
  std::vector<Arguments> all;
  for (const Namespace& one : daemon.namespaces) {
    const auto old = std::ranges::find(before.namespaces, one.name, &Namespace::name);
    const bool is_new = old == before.namespaces.end();
    if (!is_new && *old == one) continue;
    if (is_new) all.push_back({"namespace", "create", one.name, "--server=" + kServer});
    all.push_back(set_arguments(one, daemon));
  }
  return all;
}

}  // namespace tranche::mps
