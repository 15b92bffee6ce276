#include "mps/diff.h"

#include <fmt/format.h>

#include <algorithm>

namespace tranche::mps {
namespace {

// What a daemon that runs cannot be told. (With partitions `replicas` is how many there are: they
// are cut before the first client.)
bool same_start(const Daemon& a, const Daemon& b) {
  return a.sees_all == b.sees_all && a.protocol == b.protocol && a.partitions == b.partitions &&
         std::ranges::equal(a.devices, b.devices, [](const auto& x, const auto& y) {
           return x.uuid == y.uuid && x.index == y.index && x.replicas == y.replicas;
         });
}

Change change_of(const Daemon& before, const Daemon& daemon) {
  if (before == daemon) return {Step::kKeep, daemon, {}};
  return {same_start(before, daemon) ? Step::kRetune : Step::kRestart, daemon, before};
}

int rank(Step step) {
  switch (step) {
    case Step::kEnd:
      return 0;
    case Step::kRestart:
      return 1;
    case Step::kStart:
      return 2;
    case Step::kRetune:
      return 3;
    case Step::kKeep:
      break;
  }
  return 4;
}

// A limit that is no more is told as all of the device: MPS has no command to take one away.
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

std::vector<Change> diff(const Plan& running, const Plan& wanted) {
  std::vector<Change> changes;
  for (const Daemon& daemon : wanted) {
    const auto before = std::ranges::find(running, daemon.resource, &Daemon::resource);
    changes.push_back(before == running.end() ? Change{Step::kStart, daemon, {}}
                                              : change_of(*before, daemon));
  }
  for (const Daemon& daemon : running) {
    if (std::ranges::find(wanted, daemon.resource, &Daemon::resource) == wanted.end()) {
      changes.push_back({Step::kEnd, daemon, {}});
    }
  }
  std::ranges::stable_sort(changes, {}, [](const Change& change) { return rank(change.step); });
  return changes;
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

}  // namespace tranche::mps
