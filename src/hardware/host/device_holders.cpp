#include "host/device_holders.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "host/process.h"

namespace tranche::host {
namespace {

constexpr std::size_t kLongestCommand = std::size_t{64} << 10U;  // bytes; a longer one is omitted

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

void add_nodes(const gpu::MigInstance& instance, std::set<std::string>& nodes) {
  for (const auto& cap : {instance.gpu_instance_cap, instance.compute_instance_cap}) {
    if (cap) nodes.insert(fmt::format("nvidia-cap{}", *cap));
  }
}

// Its words are separated by zeros.
std::string command_of(const FsRoot& fs, pid_t pid) {
  auto text = fs.read(fmt::format("/proc/{}/cmdline", pid), kLongestCommand).value_or("");
  while (text.ends_with('\0')) text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text;
}

}  // namespace

std::set<std::string> device_nodes(const gpu::Gpu& gpu) {
  std::set<std::string> nodes;
  if (gpu.minor >= 0) nodes.insert(fmt::format("nvidia{}", gpu.minor));
  for (const auto& instance : gpu.mig_instances) add_nodes(instance, nodes);
  return nodes;
}

std::set<std::string> device_nodes(const gpu::Gpu& gpu, int gpu_instance) {
  std::set<std::string> nodes;
  for (const auto& instance : gpu.mig_instances) {
    if (instance.gpu_instance_id == gpu_instance) add_nodes(instance, nodes);
  }
  return nodes;
}

std::optional<DeviceHolder> read_holder(const FsRoot& fs, pid_t pid) {
  const auto facts = read_process(fs, pid);
  if (!facts && facts.error().code == Code::kNotFound) return std::nullopt;
  return DeviceHolder{.pid = pid,
                      .name = facts ? facts->name : "",
                      .cgroup = facts ? facts->cgroup.value_or("") : "",
                      .command = command_of(fs, pid)};
}

Result<DeviceHolders> device_holders(const FsRoot& fs, const std::set<std::string>& nodes,
                                     pid_t self) {
  ASSIGN_OR_RETURN(const auto names, fs.list("/proc"));
  const auto own = read_cgroup(fs, self);
  const auto second = read_process(fs, 2);
  DeviceHolders found;
  // The kernel's own processes are only visible on the node, whatever its control groups.
  found.sees_others = second && second->name == "kthreadd";
  for (const auto& name : names) {
    const auto pid = to_pid(name);
    if (!pid || *pid == self) continue;
    const auto held = holds(fs, *pid, nodes);
    if (!held) ++found.unseen;
    // A program that kubelet runs in our container, such as a probe, is not another container's.
    if (!found.sees_others) {
      const auto group = read_cgroup(fs, *pid);
      found.sees_others = group && (!own || *group != *own);
    }
    if (!held || !*held) continue;
    if (auto holder = read_holder(fs, *pid)) found.holders.push_back(*std::move(holder));
  }
  std::ranges::sort(found.holders);
  return found;
}

}  // namespace tranche::host
