#include "cdi/gpu_edits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace tranche::cdi {
namespace {

constexpr auto kControlNodes = std::to_array<std::string_view>(
    {"/dev/nvidia-modeset", "/dev/nvidia-uvm-tools", "/dev/nvidia-uvm", "/dev/nvidiactl"});

std::string on_host(const std::string& root, const std::string& path) {
  std::string_view base = root;
  while (base.ends_with('/')) base.remove_suffix(1);
  return fmt::format("{}{}", base, path);
}

Mount file_mount(const std::string& path, const std::string& container_path,
                 const SpecOptions& options) {
  return {.container_path = container_path,
          .host_path = on_host(options.driver_root, path),
          .read_only = true,
          .options = file_mount_options()};
}

Mount socket_mount(const std::string& path, const SpecOptions& options) {
  auto mount = file_mount(path, path, options);
  mount.read_only = false;
  mount.options.emplace_back("noexec");
  return mount;
}

// A node may be open to its group and not to others. A container that does not run as root can open
// it only as a member of the group.
bool needs_group(const DeviceNumbers& numbers) {
  constexpr std::uint32_t kOthersReadWrite = 06;
  return numbers.gid != 0 && (numbers.mode & kOthersReadWrite) != kOthersReadWrite;
}

void add_hook(std::optional<Hook> hook, ContainerEdits& edits) {
  if (hook) edits.hooks.push_back(*std::move(hook));
}

std::vector<std::string> library_folders(const DriverFiles& files) {
  std::vector<std::string> folders;
  for (const auto& library : files.libraries) {
    auto folder = std::filesystem::path(library).parent_path().string();
    if (std::ranges::find(folders, folder) == folders.end()) folders.push_back(std::move(folder));
  }
  return folders;
}

// `flag` before each of `values`.
std::vector<std::string> each_with(const char* flag, const std::vector<std::string>& values) {
  std::vector<std::string> args;
  for (const auto& value : values) args.insert(args.end(), {flag, value});
  return args;
}

// Whether the device has the display files of its GPU. A MIG instance has them only if its profile
// says so ("1g.24gb+gfx").
bool with_graphics(const offer::Device& device, const gpu::Gpu& gpu) {
  if (!device.mig) return true;
  const auto instance = std::ranges::find_if(
      gpu.mig_instances, [&](const auto& mig) { return mig.uuid.value == device.uuid; });
  return instance != gpu.mig_instances.end() &&
         instance->profile.name.find("+gfx") != std::string::npos;
}

}  // namespace

std::vector<std::string> file_mount_options() { return {"nosuid", "nodev", "rbind", "rprivate"}; }

ContainerEdits GpuEdits::common() const {
  ContainerEdits edits;
  edits.env = {fmt::format("NVIDIA_CTK_LIBCUDA_DIR={}", fmt::join(files_.cuda_folders, ":")),
               kNothingOfTheRuntime};
  for (const auto path : kControlNodes) {
    const std::string node(path);
    if (files_.nodes.contains(node)) add_node(node, edits);
  }
  add_common_hooks(edits);
  add_files(files_.libraries, edits);
  if (options_.features.explicit_driver_libraries) add_files(files_.explicit_libraries, edits);
  add_files(files_.binaries, edits);
  add_files(files_.firmware, edits);
  for (const auto& config : files_.configs) {
    edits.mounts.push_back(file_mount(config.path, config.container_path, options_));
  }
  if (options_.features.no_ipc) return edits;
  for (const auto& path : files_.sockets) edits.mounts.push_back(socket_mount(path, options_));
  return edits;
}

ContainerEdits GpuEdits::of(const offer::Device& device, const gpu::Machine& machine) const {
  ContainerEdits edits;
  for (const auto& path : device.paths) add_node(path, edits);
  const auto* gpu = gpu::find_gpu(machine, {device.gpu_uuid});
  if (gpu != nullptr && with_graphics(device, *gpu)) add_display_files(gpu->pci, edits);
  return edits;
}

void GpuEdits::add_node(const std::string& path, bool below_driver, ContainerEdits& edits) const {
  const auto& root = below_driver ? options_.driver_root : options_.dev_root;
  DeviceNode node{.container_path = path, .host_path = on_host(root, path)};
  if (node.host_path == path) node.host_path.clear();
  const auto found = files_.nodes.find(path);
  if (found != files_.nodes.end() && found->second) {
    const auto& numbers = *found->second;
    node.major = numbers.major;
    node.minor = numbers.minor;
    node.file_mode = numbers.mode;
    node.permissions = "rwm";
    node.gid = numbers.gid;
    if (!options_.features.no_additional_gids && needs_group(numbers)) {
      edits.additional_gids.push_back(numbers.gid);
    }
  } else if (found == files_.nodes.end()) {
    add_numbers_of_capability(path, node);
  }
  edits.device_nodes.push_back(std::move(node));
}

// A new instance may have no node on the host yet: programs there create it when they need it. A
// runtime that has the numbers creates its own without it.
void GpuEdits::add_numbers_of_capability(const std::string& path, DeviceNode& node) const {
  constexpr std::string_view kPrefix = "/dev/nvidia-caps/nvidia-cap";
  if (!files_.caps_major || !path.starts_with(kPrefix)) return;
  const auto* const begin = path.data() + kPrefix.size();
  const auto* const end = path.data() + path.size();
  std::uint32_t minor = 0;
  if (const auto [rest, error] = std::from_chars(begin, end, minor);
      error != std::errc() || rest != end) {
    return;
  }
  node.type = "c";
  node.major = files_.caps_major;
  node.minor = minor;
  node.file_mode = 0444;  // as the driver has them (DeviceFileMode)
  node.permissions = "rwm";
}

void GpuEdits::add_files(const std::vector<std::string>& paths, ContainerEdits& edits) const {
  for (const auto& path : paths) edits.mounts.push_back(file_mount(path, path, options_));
}

void GpuEdits::add_common_hooks(ContainerEdits& edits) const {
  if (!files_.library_links.empty()) {
    add_hook(hooks_.make("create-symlinks", each_with("--link", files_.library_links)), edits);
  }
  add_hook(hooks_.make("enable-cuda-compat", {"--host-driver-version=" + files_.driver_version}),
           edits);
  const auto folders = each_with("--folder", library_folders(files_));
  if (!folders.empty()) add_hook(hooks_.make("update-ldcache", folders), edits);
  add_hook(hooks_.make("disable-device-node-modification"), edits);
  add_hook(hooks_.make("update-application-profile"), edits);
}

void GpuEdits::add_display_files(const gpu::PciAddress& gpu, ContainerEdits& edits) const {
  const auto drm = files_.drm.find(gpu);
  if (drm == files_.drm.end()) return;
  for (const auto& path : drm->second.nodes) add_node(path, edits);
  if (drm->second.links.empty()) return;
  add_hook(hooks_.make("create-symlinks", each_with("--link", drm->second.links)), edits);
}

}  // namespace tranche::cdi
