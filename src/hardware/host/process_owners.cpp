#include "host/process_owners.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "base/process_stat.h"
#include "host/process.h"

namespace tranche::host {
namespace {

constexpr std::size_t kLongestStat = 4096;

std::optional<ProcessStat> stat_of(const FsRoot& host, pid_t pid) {
  const auto text = host.read(fmt::format("/proc/{}/stat", pid), kLongestStat);
  return text ? parse_process_stat(*text) : std::nullopt;
}

// In a container without the node's process ids, process 1 is one of that container.
bool is_first_of_container(const FsRoot& host) {
  const auto own = read_cgroup(host, ::getpid());
  const auto first = read_cgroup(host, 1);
  if (!own || !first) return !first;
  return *own == *first && (*own == "/" || is_in_pod(*own));
}

}  // namespace

ProcessOwners::ProcessOwners(FsRoot host)
    : host_(std::move(host)), sees_node_(!is_first_of_container(host_)) {}

ProcessOwners::Seen ProcessOwners::look(pid_t pid) {
  if (!sees_node_) return {};
  auto stat = stat_of(host_, pid);
  if (!stat) return {.owner = {.kind = Owner::Kind::kEnded}};
  const auto known = known_.find(pid);
  if (known != known_.end() && known->second.start_time == stat->start_time) {
    return {known->second.owner, std::move(stat->name)};
  }
  auto owner = read(pid);
  // It may not have been moved to its container's group yet, or have been replaced since.
  const auto after = stat_of(host_, pid);
  const bool is_final =
      owner.kind == Owner::Kind::kContainer && after && after->start_time == stat->start_time;
  if (is_final) {
    known_.insert_or_assign(pid, Known{.start_time = stat->start_time, .owner = owner});
  }
  return {std::move(owner), std::move(stat->name)};
}

Owner ProcessOwners::read(pid_t pid) const {
  const auto group = read_cgroup(host_, pid);
  if (!group || group->empty()) return {};
  if (auto process = pod_process(*group)) {
    return {.kind = Owner::Kind::kContainer,
            .pod_uid = std::move(process->pod_uid),
            .container = std::move(process->container)};
  }
  if (is_in_pod(*group)) return {};
  return {.kind = Owner::Kind::kHost};
}

void ProcessOwners::keep_only(const std::set<pid_t>& pids) {
  std::erase_if(known_, [&](const auto& one) { return !pids.contains(one.first); });
}

}  // namespace tranche::host
