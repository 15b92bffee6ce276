#include "cdi/make_specs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "cdi/hooks.h"
#include "cdi/spec.h"
#include "cdi/validate.h"

namespace tranche::cdi {
namespace {

constexpr auto kClasses =
    std::to_array<std::string_view>({"gpu", "imex-channel", "gdrcopy", "gds", "mofed"});
constexpr auto kControlNodes = std::to_array<std::string_view>(
    {"/dev/nvidia-modeset", "/dev/nvidia-uvm-tools", "/dev/nvidia-uvm", "/dev/nvidiactl"});

enum class MountKind { kFile, kSocket };

std::vector<std::string> options_of(MountKind kind) {
  std::vector<std::string> options = {"nosuid", "nodev", "rbind", "rprivate"};
  if (kind == MountKind::kSocket) options.emplace_back("noexec");
  return options;
}

std::string on_host(const std::string& root, const std::string& path) {
  std::string_view base = root;
  while (base.ends_with('/')) base.remove_suffix(1);
  return fmt::format("{}{}", base, path);
}

Mount mount_of(const std::string& path, const std::string& container_path, MountKind kind,
               const SpecOptions& options) {
  return {.container_path = container_path,
          .host_path = on_host(options.driver_root, path),
          .read_only = kind == MountKind::kFile,
          .options = options_of(kind)};
}

void add_mounts(const std::vector<std::string>& paths, MountKind kind, const SpecOptions& options,
                ContainerEdits& edits) {
  for (const auto& path : paths) {
    edits.mounts.push_back(mount_of(path, path, kind, options));
  }
}

// A node may be open to its group and not to others. A container that does not run as root can open
// it only as a member of the group.
bool needs_group(const DeviceNumbers& numbers) {
  constexpr std::uint32_t kOthersReadWrite = 06;
  return numbers.gid != 0 && (numbers.mode & kOthersReadWrite) != kOthersReadWrite;
}

void add_node(const std::string& path, const DriverFiles& files, const SpecOptions& options,
              ContainerEdits& edits) {
  DeviceNode node{.container_path = path, .host_path = on_host(options.dev_root, path)};
  if (node.host_path == path) node.host_path.clear();
  const auto found = files.nodes.find(path);
  if (found != files.nodes.end() && found->second) {
    const auto& numbers = *found->second;
    node.major = numbers.major;
    node.minor = numbers.minor;
    node.file_mode = numbers.mode;
    node.permissions = "rwm";
    node.gid = numbers.gid;
    if (!options.features.no_additional_gids && needs_group(numbers)) {
      edits.additional_gids.push_back(numbers.gid);
    }
  }
  edits.device_nodes.push_back(std::move(node));
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

void add_common_hooks(const DriverFiles& files, const HookMaker& hooks, ContainerEdits& edits) {
  if (!files.library_links.empty()) {
    std::vector<std::string> args;
    for (const auto& link : files.library_links) args.insert(args.end(), {"--link", link});
    add_hook(hooks.make("create-symlinks", args), edits);
  }
  add_hook(hooks.make("enable-cuda-compat", {"--host-driver-version=" + files.driver_version}),
           edits);
  std::vector<std::string> folders;
  for (const auto& folder : library_folders(files)) {
    folders.insert(folders.end(), {"--folder", folder});
  }
  if (!folders.empty()) add_hook(hooks.make("update-ldcache", folders), edits);
  add_hook(hooks.make("disable-device-node-modification"), edits);
  add_hook(hooks.make("update-application-profile"), edits);
}

// The edits of every GPU container.
ContainerEdits common_edits(const DriverFiles& files, const SpecOptions& options,
                            const HookMaker& hooks) {
  ContainerEdits edits;
  edits.env = {fmt::format("NVIDIA_CTK_LIBCUDA_DIR={}", fmt::join(files.cuda_folders, ":")),
               // Keeps NVIDIA's runtime, if there is one, from adding devices of its own.
               "NVIDIA_VISIBLE_DEVICES=void"};
  for (const auto path : kControlNodes) {
    const std::string node(path);
    if (files.nodes.contains(node)) add_node(node, files, options, edits);
  }
  add_common_hooks(files, hooks, edits);
  add_mounts(files.libraries, MountKind::kFile, options, edits);
  if (options.features.explicit_driver_libraries) {
    add_mounts(files.explicit_libraries, MountKind::kFile, options, edits);
  }
  add_mounts(files.binaries, MountKind::kFile, options, edits);
  add_mounts(files.firmware, MountKind::kFile, options, edits);
  for (const auto& config : files.configs) {
    edits.mounts.push_back(mount_of(config.path, config.container_path, MountKind::kFile, options));
  }
  if (!options.features.no_ipc) add_mounts(files.sockets, MountKind::kSocket, options, edits);
  return edits;
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

Device device_spec(const offer::Device& device, const gpu::Machine& machine,
                   const DriverFiles& files, const SpecOptions& options, const HookMaker& hooks) {
  Device spec;
  spec.name = options.id_strategy == config::DeviceIdStrategy::kUuid ? device.uuid : device.index;
  for (const auto& path : device.paths) add_node(path, files, options, spec.edits);

  const auto* gpu = gpu::find_gpu(machine, {device.gpu_uuid});
  if (gpu == nullptr || !with_graphics(device, *gpu)) return spec;
  const auto drm = files.drm.find(gpu->pci);
  if (drm == files.drm.end()) return spec;
  for (const auto& path : drm->second.nodes) add_node(path, files, options, spec.edits);
  if (!drm->second.links.empty()) {
    std::vector<std::string> args;
    for (const auto& link : drm->second.links) args.insert(args.end(), {"--link", link});
    add_hook(hooks.make("create-symlinks", args), spec.edits);
  }
  return spec;
}

Spec gpu_spec(const offer::Offer& offer, const gpu::Machine& machine, const DriverFiles& files,
              const SpecOptions& options) {
  const HookMaker hooks(options.hook_program, options.disabled_hooks);
  Spec spec;
  std::set<std::string> seen;
  for (const auto& resource : offer.resources) {
    for (const auto& device : resource.devices) {
      if (!seen.insert(device.uuid).second) continue;
      auto one = device_spec(device, machine, files, options, hooks);
      // Its nodes are unknown, so it is offered as unhealthy. A runtime would refuse the whole
      // file.
      if (one.edits.empty()) continue;
      spec.devices.push_back(std::move(one));
    }
  }
  if (!spec.devices.empty()) spec.edits = common_edits(files, options, hooks);
  return spec;
}

Spec imex_spec(const DriverFiles& files, const SpecOptions& options) {
  Spec spec;
  for (const int channel : options.imex_channels) {
    Device device;
    device.name = std::to_string(channel);
    add_node(fmt::format("/dev/nvidia-caps-imex-channels/channel{}", channel), files, options,
             device.edits);
    spec.devices.push_back(std::move(device));
  }
  return spec;
}

// A class of one device, "all", with the nodes whose paths begin with one of `prefixes`. Empty when
// there are none.
Spec mode_spec(std::initializer_list<std::string_view> prefixes, const DriverFiles& files,
               const SpecOptions& options) {
  Device all;
  all.name = "all";
  for (const auto& [path, numbers] : files.nodes) {
    const bool wanted = std::ranges::any_of(
        prefixes, [&path = path](auto prefix) { return path.starts_with(prefix); });
    if (wanted) add_node(path, files, options, all.edits);
  }
  Spec spec;
  if (!all.edits.empty()) spec.devices.push_back(std::move(all));
  return spec;
}

Spec gds_spec(const DriverFiles& files, const SpecOptions& options) {
  auto spec = mode_spec({"/dev/nvidia-fs"}, files, options);
  for (auto& device : spec.devices) {
    add_mounts(files.gds_files, MountKind::kFile, options, device.edits);
  }
  return spec;
}

// False: the class has no device, so it has no file.
Result<bool> add_file(std::string_view class_name, Spec spec, Specs& out) {
  if (spec.devices.empty()) return false;
  spec.kind = fmt::format("{}/{}", kVendor, class_name);
  put_in_order(spec);
  if (const auto fits = validate(spec); !fits) {
    return std::unexpected(
        Error(fits.error()).with_context(fmt::format("CDI file {}", spec_file_name(class_name))));
  }
  out.files.push_back({.name = spec_file_name(class_name),
                       .class_name = std::string(class_name),
                       .json = to_json(spec)});
  return true;
}

Result<void> add_mode(std::string_view class_name, std::string_view nodes, Spec spec, Specs& out) {
  ASSIGN_OR_RETURN(const bool added, add_file(class_name, std::move(spec), out));
  if (added) {
    out.modes.emplace_back(class_name);
    return {};
  }
  out.warnings.push_back(fmt::format(
      "{0} is enabled, but this node has no {1}: containers get no {0} devices; load its kernel "
      "module or switch it off",
      class_name, nodes));
  return {};
}

}  // namespace

Features parse_features(std::span<const std::string> names, std::vector<std::string>& warnings) {
  Features features;
  for (const auto& name : names) {
    if (name == "enable-explicit-driver-libraries") {
      features.explicit_driver_libraries = true;
    } else if (name == "no-additional-gids-for-device-nodes") {
      features.no_additional_gids = true;
    } else if (name == "disable-ipc-discoverer") {
      features.no_ipc = true;
    } else if (name == "enable-coherent-annotations") {
      warnings.emplace_back(
          "CDI feature flag enable-coherent-annotations: not supported, no annotations are "
          "written");
    } else if (name != "disable-nvsandboxutils" && name != "disable-nvsandbox-utils" &&
               name != "disable-multiple-csv-devices") {
      warnings.push_back(fmt::format("CDI feature flag {}: unknown, ignored", name));
    }
  }
  return features;
}

SpecOptions spec_options(const config::Config& config) {
  SpecOptions options;
  options.id_strategy = config.flags.plugin.device_id_strategy;
  options.driver_root = config.flags.nvidia_driver_root;
  options.dev_root = config.flags.nvidia_dev_root;
  options.hook_program = config.flags.plugin.nvidia_ctk_path;
  options.gdrcopy = config.flags.gdrcopy_enabled;
  options.gds = config.flags.gds_enabled;
  options.mofed = config.flags.mofed_enabled;
  return options;
}

Result<Specs> make_specs(const offer::Offer& offer, const gpu::Machine& machine,
                         const DriverFiles& files, const SpecOptions& options) {
  Specs out;
  TRY(add_file("gpu", gpu_spec(offer, machine, files, options), out));
  TRY(add_file("imex-channel", imex_spec(files, options), out));
  if (options.gdrcopy) {
    TRY(add_mode("gdrcopy", "/dev/gdrdrv", mode_spec({"/dev/gdrdrv"}, files, options), out));
  }
  if (options.gds) TRY(add_mode("gds", "/dev/nvidia-fs*", gds_spec(files, options), out));
  if (options.mofed) {
    TRY(add_mode("mofed", "/dev/infiniband",
                 mode_spec({"/dev/infiniband/uverbs", "/dev/infiniband/rdma_cm"}, files, options),
                 out));
  }
  return out;
}

Result<void> check_hook_program(const config::Config& config,
                                std::span<const std::string> disabled_hooks) {
  const bool none = std::ranges::find(disabled_hooks, "all") != disabled_hooks.end();
  if (!config.uses_cdi() || none || !config.flags.plugin.nvidia_ctk_path.empty()) return {};
  return fail(Code::kFailedPrecondition,
              "invalid --nvidia-cdi-hook-path option: it is empty, and CDI files name the hook "
              "program",
              "name it (usually /usr/bin/nvidia-cdi-hook), leave the flag and NVIDIA_CDI_HOOK_PATH "
              "out, or set --cdi-disable-hooks=all");
}

std::string spec_file_name(std::string_view class_name) {
  return fmt::format("{}-{}.json", kVendor, class_name);
}

std::span<const std::string_view> classes() { return kClasses; }

}  // namespace tranche::cdi
