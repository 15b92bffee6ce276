#include "host/device_holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/printable.h"
#include "host/process.h"

namespace tranche::host {
namespace {

std::optional<pid_t> to_pid(std::string_view name) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || end != name.data() + name.size() || pid <= 0) return std::nullopt;
  return pid;
}

// "/run/nvidia/driver/dev/nvidia0 (deleted)" -> "nvidia0"; "": it is no device node.
std::string node_of(std::string_view target) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (target.ends_with(kDeleted)) target.remove_suffix(kDeleted.size());
  if (!target.contains("/dev/")) return {};
  return std::string(target.substr(target.rfind('/') + 1));
}

// nullopt: its open files cannot be seen.
std::optional<bool> holds(const FsRoot& fs, pid_t pid, const std::set<std::string>& nodes) {
  const std::filesystem::path folder = fmt::format("/proc/{}/fd", pid);
  const auto files = fs.list(folder);
  if (!files) {
    if (files.error().code == Code::kPermission) return std::nullopt;
    return false;  // it has ended
  }
  return std::ranges::any_of(*files, [&](const std::string& file) {
    const auto target = fs.read_link(folder / file);
    return target && nodes.contains(node_of(*target));
  });
}

}  // namespace

std::set<std::string> device_nodes(const gpu::Gpu& gpu) {
  std::set<std::string> nodes;
  if (gpu.minor >= 0) nodes.insert(fmt::format("nvidia{}", gpu.minor));
  for (const auto& instance : gpu.mig_instances) {
    for (const auto& cap : {instance.gpu_instance_cap, instance.compute_instance_cap}) {
      if (cap) nodes.insert(fmt::format("nvidia-cap{}", *cap));
    }
  }
  return nodes;
}

Result<DeviceHolders> device_holders(const FsRoot& fs, const std::set<std::string>& nodes,
                                     pid_t self) {
  ASSIGN_OR_RETURN(const auto names, fs.list("/proc"));
  DeviceHolders found;
  for (const auto& name : names) {
    const auto pid = to_pid(name);
    if (!pid || *pid == self) continue;
    const auto held = holds(fs, *pid, nodes);
    if (!held) ++found.unseen;
    if (!held || !*held) continue;
    const auto facts = read_process(fs, *pid);
    if (!facts && facts.error().code == Code::kNotFound) continue;  // it has ended
    found.holders.push_back({.pid = *pid,
                             .name = facts ? facts->name : "",
                             .cgroup = facts ? facts->cgroup.value_or("") : ""});
  }
  std::ranges::sort(found.holders);
  return found;
}

std::string describe(const DeviceHolders& holders, std::size_t most) {
  const auto& all = holders.holders;
  const std::size_t shown = std::min(most, all.size());
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{} (pid {})", i == 0 ? "" : ", ", printable(all[i].name), all[i].pid);
  }
  if (shown < all.size()) text += fmt::format(" and {} more", all.size() - shown);
  return text;
}

}  // namespace tranche::host
