#include "cdi/find_driver_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "cdi/driver_libraries.h"

namespace tranche::cdi {
namespace {

constexpr auto kBinaryFolders = std::to_array<std::string_view>(
    {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"});
constexpr auto kBinaries = std::to_array<std::string_view>(
    {"nvidia-smi", "nvidia-debugdump", "nvidia-persistenced", "nvidia-cuda-mps-control",
     "nvidia-cuda-mps-server", "nvidia-imex", "nvidia-imex-ctl", "nvidia-xconfig"});
constexpr auto kSocketFolders = std::to_array<std::string_view>({"/run", "/var/run"});
constexpr auto kSockets =
    std::to_array<std::string_view>({"nvidia-persistenced/socket", "nvidia-fabricmanager/socket"});

// Files for graphics. Containers get them at the same paths, from each of these folders.
constexpr auto kConfigFolders =
    std::to_array<std::string_view>({"/etc", "/usr/local/share", "/usr/share"});
constexpr auto kConfigs = std::to_array<std::string_view>({
    "glvnd/egl_vendor.d/10_nvidia.json",
    "egl/egl_external_platform.d/15_nvidia_gbm.json",
    "egl/egl_external_platform.d/10_nvidia_wayland.json",
    "egl/egl_external_platform.d/09_nvidia_wayland2.json",
    "egl/egl_external_platform.d/20_nvidia_xcb.json",
    "egl/egl_external_platform.d/20_nvidia_xlib.json",
    "nvidia/nvoptix.bin",
    "X11/xorg.conf.d/10-nvidia.conf",
    "X11/xorg.conf.d/nvidia-drm-outputclass.conf",
    "OpenCL/vendors/nvidia.icd",
});
// Vulkan's files. Containers get the first that is found, in /etc. On GKE they are in the driver's
// root itself.
constexpr auto kVulkanFolders =
    std::to_array<std::string_view>({"/etc", "/usr/local/share", "/usr/share", ""});
constexpr auto kVulkan = std::to_array<std::string_view>({
    "vulkan/icd.d/nvidia_icd.json",
    "vulkan/icd.d/nvidia_icd.x86_64.json",
    "vulkan/icd.d/nvidia_icd.aarch64.json",
    "vulkan/icd.d/nvidia_layers.json",
    "vulkan/implicit_layer.d/nvidia_layers.json",
});

// Folders of device nodes, and the prefix of the nodes' names.
struct NodePattern {
  std::string_view folder, prefix;
};
constexpr auto kNodes = std::to_array<NodePattern>({
    {"/dev", "nvidia"},
    {"/dev", "gdrdrv"},
    {"/dev/nvidia-caps", "nvidia-cap"},
    {"/dev/dri", "card"},
    {"/dev/dri", "renderD"},
    {"/dev/infiniband", "uverbs"},
    {"/dev/infiniband", "rdma_cm"},
});

std::optional<DeviceNumbers> numbers_of(const std::filesystem::path& real) {
  struct stat info{};
  if (::stat(real.c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) return std::nullopt;
  return DeviceNumbers{.major = major(info.st_rdev),
                       .minor = minor(info.st_rdev),
                       .mode = info.st_mode & 07777U,
                       .gid = info.st_gid};
}

// Whether a driver's root has device nodes of its own: a driver container's, or the host's root.
bool has_nodes(const FsRoot& driver) {
  const auto names = driver.list("/dev");
  return names && std::ranges::any_of(
                      *names, [](const std::string& name) { return name.starts_with("nvidia"); });
}

Result<void> find_nodes(const FsRoot& dev, DriverFiles& files) {
  for (const auto& pattern : kNodes) {
    ASSIGN_OR_RETURN(const auto paths, entries_of(dev, std::string(pattern.folder)));
    for (const auto& path : paths) {
      const auto name = std::filesystem::path(path).filename().string();
      if (!name.starts_with(pattern.prefix) || dev.is_directory(path)) continue;
      if (!dev.exists(path)) continue;  // a dangling link
      files.nodes[path] = numbers_of(dev.resolve(path));
    }
  }
  return {};
}

// "237 nvidia-caps" in /proc/devices.
std::optional<std::uint32_t> caps_major(const FsRoot& host) {
  const auto text = host.read("/proc/devices");
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::uint32_t number = 0;
    std::string name;
    if (words >> number >> name && name == "nvidia-caps" && number > 0) return number;
  }
  return std::nullopt;
}

Result<DrmFiles> drm_files_of(const DriverRoots& roots, const gpu::PciAddress& address,
                              const DriverFiles& files) {
  DrmFiles drm;
  const auto bus_id = gpu::sysfs_name(address);
  ASSIGN_OR_RETURN(const auto entries,
                   entries_of(roots.host, fmt::format("/sys/bus/pci/devices/{}/drm", bus_id)));
  for (const auto& entry : entries) {
    const auto node = fmt::format("/dev/dri/{}", std::filesystem::path(entry).filename().string());
    if (files.nodes.contains(node)) drm.nodes.push_back(node);
  }
  for (const std::string_view kind : {"card", "render"}) {
    const auto link = fmt::format("/dev/dri/by-path/pci-{}-{}", bus_id, kind);
    const auto target = roots.dev.read_link(link);
    if (!target) continue;
    const auto node =
        fmt::format("/dev/dri/{}", std::filesystem::path(*target).filename().string());
    if (std::ranges::find(drm.nodes, node) == drm.nodes.end()) continue;
    drm.links.push_back(fmt::format("{}::{}", *target, link));
  }
  return drm;
}

// The file in the first folder that has it; nullopt: none. Also records dangling links.
std::optional<std::string> find_in(const DriverRoots& roots,
                                   std::span<const std::string_view> folders, std::string_view name,
                                   std::vector<std::string>& dangling) {
  std::vector<std::string> broken;
  for (const auto folder : folders) {
    auto path = fmt::format("{}/{}", folder, name);
    if (is_there(roots, path)) return path;
    if (is_dangling(roots, path)) broken.push_back(std::move(path));
  }
  std::ranges::move(broken, std::back_inserter(dangling));
  return std::nullopt;
}

void find_binaries(const DriverRoots& roots, DriverFiles& files) {
  for (const auto name : kBinaries) {
    if (auto path = find_in(roots, kBinaryFolders, name, files.dangling)) {
      files.binaries.push_back(*std::move(path));
    }
  }
}

void find_configs(const DriverRoots& roots, DriverFiles& files) {
  for (const auto name : kConfigs) {
    for (const auto& folder : kConfigFolders) {
      const auto path = find_in(roots, {&folder, 1}, name, files.dangling);
      if (path) files.configs.push_back({.path = *path, .container_path = *path});
    }
  }
  for (const auto name : kVulkan) {
    if (auto path = find_in(roots, kVulkanFolders, name, files.dangling)) {
      files.configs.push_back(
          {.path = *std::move(path), .container_path = fmt::format("/etc/{}", name)});
    }
  }
}

// The kernel's own search path for firmware: its parameter, then the standard folders.
std::vector<std::string> firmware_folders(const FsRoot& host, const std::string& kernel) {
  std::vector<std::string> folders;
  auto parameter = host.read("/sys/module/firmware_class/parameters/path").value_or("");
  parameter.erase(parameter.find_last_not_of(" \n") + 1);
  if (parameter.starts_with('/')) folders.push_back(parameter);
  for (const std::string_view base : {"/lib/firmware/updates", "/lib/firmware"}) {
    if (!kernel.empty()) folders.push_back(fmt::format("{}/{}", base, kernel));
    folders.emplace_back(base);
  }
  return folders;
}

Result<void> find_firmware(const DriverRoots& roots, const std::string& kernel,
                           DriverFiles& files) {
  std::set<std::string> seen;
  for (const auto& base : firmware_folders(roots.host, kernel)) {
    const auto folder = fmt::format("{}/nvidia/{}", base, files.driver_version);
    ASSIGN_OR_RETURN(const auto paths, entries_of(roots.driver, folder));
    for (const auto& path : paths) {
      const auto name = std::filesystem::path(path).filename().string();
      if (!name.starts_with("gsp") || !name.ends_with(".bin")) continue;
      if (!seen.insert(path).second) continue;
      (is_there(roots, path) ? files.firmware : files.dangling).push_back(path);
    }
  }
  return {};
}

void find_sockets(const DriverRoots& roots, DriverFiles& files) {
  for (const auto socket : kSockets) {
    if (auto path = find_in(roots, kSocketFolders, socket, files.dangling)) {
      files.sockets.push_back(*std::move(path));
    }
  }
  if (is_there(roots, "/tmp/nvidia-mps")) files.sockets.emplace_back("/tmp/nvidia-mps");
}

void find_gds_files(const DriverRoots& roots, DriverFiles& files) {
  for (const char* path : {"/run/udev", "/etc/cufile.json"}) {
    if (is_there(roots, path)) files.gds_files.emplace_back(path);
  }
}

}  // namespace

FsRoot find_dev_root(const FsRoot& driver, const FsRoot& host) {
  return has_nodes(driver) ? driver : host;
}

Result<DriverFiles> find_driver_files(const DriverRoots& roots, const std::string& version,
                                      const std::string& kernel,
                                      std::span<const gpu::PciAddress> gpus) {
  if (version.empty()) {
    return fail(Code::kFailedPrecondition,
                "the driver does not tell its version, by which its libraries are found",
                "see nvidia-smi on the node, or use --device-list-strategy envvar");
  }
  DriverFiles files;
  files.driver_version = version;
  TRY(find_libraries(roots, files));
  find_binaries(roots, files);
  find_configs(roots, files);
  TRY(find_firmware(roots, kernel, files));
  find_sockets(roots, files);
  find_gds_files(roots, files);
  files.nodes_below_driver = has_nodes(roots.driver);
  files.imex_below_driver = roots.driver.is_directory("/dev/nvidia-caps-imex-channels");
  TRY(find_nodes(roots.dev, files));
  files.caps_major = caps_major(roots.host);
  for (const auto& address : gpus) {
    ASSIGN_OR_RETURN(auto drm, drm_files_of(roots, address, files));
    if (!drm.nodes.empty()) files.drm[address] = std::move(drm);
  }
  return files;
}

}  // namespace tranche::cdi
