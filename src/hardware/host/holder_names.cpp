#include "host/holder_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/printable.h"

namespace tranche::host {
namespace {

constexpr std::size_t kCommandShown = 80;
constexpr std::size_t kContainerId = 12;  // digits, as `crictl ps` shows them

// "nvidia-dcgm.service" of "/system.slice/nvidia-dcgm.service"; "": the group is of no unit that
// has a name of its own.
std::string unit_of(std::string_view cgroup) {
  while (!cgroup.empty()) {
    const auto slash = cgroup.rfind('/');
    const auto last = slash == std::string_view::npos ? cgroup : cgroup.substr(slash + 1);
    if (last.ends_with(".service") || last.ends_with(".scope")) return printable(last);
    cgroup = cgroup.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
  return {};
}

std::string pod_text(const DeviceHolder& holder, const PodNameOf& pod_name) {
  const auto pod = pod_process(holder.cgroup);
  if (!pod) return "in a Pod whose name its control group does not tell";
  const auto name = pod_name ? pod_name(*pod) : std::string();
  if (!name.empty()) return fmt::format("Pod {}", name);
  if (pod->container.empty()) return fmt::format("Pod with uid {}", pod->pod_uid);
  return fmt::format("Pod with uid {}, container {}", pod->pod_uid,
                     pod->container.substr(0, kContainerId));
}

// Where it belongs; "": not known.
std::string place_text(const DeviceHolder& holder, const PodNameOf& pod_name) {
  if (is_in_pod(holder.cgroup) || pod_process(holder.cgroup)) return pod_text(holder, pod_name);
  const auto command = printable(holder.command, kCommandShown);
  auto where = unit_of(holder.cgroup);
  if (where.empty() && !holder.cgroup.empty()) where = "no Pod";
  if (where.empty() || command.empty()) return where + command;
  return fmt::format("{}: {}", where, command);
}

}  // namespace

std::string describe(const DeviceHolder& holder, const PodNameOf& pod_name) {
  const auto place = place_text(holder, pod_name);
  return fmt::format("{} (pid {}{}{})", printable(holder.name), holder.pid,
                     place.empty() ? "" : ", ", place);
}

std::vector<std::string> describe(const std::vector<DeviceHolder>& holders,
                                  const PodNameOf& pod_name, std::size_t most) {
  std::vector<std::string> texts;
  for (const auto& holder : holders) {
    if (texts.size() == most) break;
    texts.push_back(describe(holder, pod_name));
  }
  if (texts.size() < holders.size()) {
    texts.push_back(fmt::format("and {} more", holders.size() - texts.size()));
  }
  return texts;
}

std::string what_is_unseen(const DeviceHolders& found) {
  constexpr const char* kAsk = "`fuser -v /dev/nvidia*` on the node names all";
  if (!found.sees_others) {
    return fmt::format(
        "processes outside of this container cannot be seen (its Pod has no hostPID; chart: "
        "migManager.enableHostPID=true): {}",
        kAsk);
  }
  if (found.unseen == 0) return {};
  return fmt::format("{} processes could not be looked at (it needs CAP_SYS_PTRACE): {}",
                     found.unseen, kAsk);
}

}  // namespace tranche::host
