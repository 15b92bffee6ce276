#include "lab/runtime/driver.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "fmt/format.h"
#include "sim/gpu/mig.h"
#include "sim/gpu/visible.h"

namespace tranche::lab {
namespace {

#ifdef __aarch64__
constexpr std::string_view kLibraries = "/usr/lib/aarch64-linux-gnu";
#else
constexpr std::string_view kLibraries = "/usr/lib/x86_64-linux-gnu";
#endif
constexpr auto kUtilityLibraries = std::to_array<std::string_view>({"libnvidia-ml.so"});
constexpr auto kComputeLibraries =
    std::to_array<std::string_view>({"libcuda.so", "libnvidia-ptxjitcompiler.so"});
constexpr auto kUtilityPrograms = std::to_array<std::string_view>({"/usr/bin/nvidia-smi"});
constexpr auto kComputePrograms =
    std::to_array<std::string_view>({"/usr/bin/nvidia-cuda-mps-control"});
constexpr auto kControlNodes =
    std::to_array<std::string_view>({"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools"});
// Replaced by the simulated machine's.
constexpr std::string_view kSysStandIn = "/sys/bus/pci/devices";
constexpr std::string_view kHookProgram = "/opt/tranche/bin/tranche-lab-runtime";

Result<void> add_node(const std::string& path, const FsRoot& files, Edits& edits) {
  struct stat info = {};
  if (::stat(files.resolve(path).c_str(), &info) != 0 || !S_ISCHR(info.st_mode)) {
    return fail(Code::kFailedPrecondition, path + " is not there, or no device",
                "write the machine's files again: tranche-sim root");
  }
  edits.devices.push_back({.path = path,
                           .major = major(info.st_rdev),
                           .minor = minor(info.st_rdev),
                           .mode = info.st_mode & 07777U});
  return {};
}

// As NVIDIA's runtime, which has nvidia-modprobe make the nodes of instances that are new.
Result<void> make_missing_node(const std::string& path, unsigned minor, const sim::State& state,
                               const FsRoot& files) {
  const auto real = files.resolve(path);
  if (::access(real.c_str(), F_OK) == 0) return {};
  TRY(files.make_directories(std::filesystem::path(path).parent_path()));
  const auto shown = state.nodes_share_minor != 0 ? 0 : minor;
  // mknod's mode passes the umask.
  if (::mknod(real.c_str(), S_IFCHR | state.node_mode, ::makedev(sim::kCapsMajor, shown)) != 0 ||
      ::chmod(real.c_str(), state.node_mode) != 0) {
    return std::unexpected(errno_error(errno, "mknod " + real.string()));
  }
  return {};
}

Result<void> add_mig_nodes(const sim::Gpu& gpu, sim::MigDevice device, const sim::State& state,
                           const FsRoot& files, Edits& edits) {
  for (const auto compute : {sim::kNone, device.compute_instance}) {
    const auto minor = sim::capability_minor(gpu.minor, device.gpu_instance, compute);
    const auto path = fmt::format("/dev/nvidia-caps/nvidia-cap{}", minor);
    TRY(make_missing_node(path, minor, state, files));
    TRY(add_node(path, files, edits));
  }
  return {};
}

// Everything that the request's devices show together.
Result<sim::Visible> visible_devices(const Request& request, const sim::State& state,
                                     const FsRoot& files) {
  if (request.all) return sim::read_visible(state, "all", files);
  auto visible = sim::read_visible(state, "none", files);
  for (const auto& device : request.devices) {
    const auto one = sim::read_visible(state, device.c_str(), files);
    if (one.everything || one.gpus.none()) {
      return fail(Code::kInvalidArgument, fmt::format("device error: {}: unknown device", device),
                  fmt::format("the machine is {}; nvidia-smi -L on the node lists its devices",
                              state.machine));
    }
    visible.gpus |= one.gpus;
    visible.whole |= one.whole;
    for (std::uint32_t gpu = 0; gpu < state.gpu_count; ++gpu) visible.mig[gpu] |= one.mig[gpu];
  }
  return visible;
}

Result<void> add_gpus(const sim::Visible& visible, const sim::State& state, const FsRoot& files,
                      Edits& edits) {
  for (std::uint32_t i = 0; i < state.gpu_count; ++i) {
    const sim::Gpu& gpu = state.gpus[i];
    if (!visible.shows(i)) continue;
    TRY(add_node(fmt::format("/dev/nvidia{}", gpu.minor), files, edits));
    for (const auto device : sim::mig_devices(gpu)) {
      if (!visible.shows(i, device.gpu_instance, device.compute_instance)) continue;
      TRY(add_mig_nodes(gpu, device, state, files, edits));
    }
  }
  return {};
}

Result<void> add_file(const std::string& source, const std::string& destination,
                      const FsRoot& files, Edits& edits) {
  if (!files.exists(source)) {
    return fail(Code::kFailedPrecondition, source + " is not there",
                "the simulated driver is not installed on this node: tranche-sim root");
  }
  edits.mounts.push_back({.source = source, .destination = destination});
  return {};
}

// NVIDIA's runtime mounts the library under its version and lets ldconfig link the rest.
Result<void> add_library(std::string_view name, const sim::State& state, const FsRoot& files,
                         Edits& edits) {
  const auto source = fmt::format("{}/{}.{}", kLibraries, name, state.driver_version);
  TRY(add_file(source, source, files, edits));
  return add_file(source, fmt::format("{}/{}.1", kLibraries, name), files, edits);
}

Result<void> add_driver(const Request& request, const sim::State& state, const FsRoot& files,
                        Edits& edits) {
  if (request.utility) {
    for (const auto name : kUtilityLibraries) TRY(add_library(name, state, files, edits));
    for (const auto path : kUtilityPrograms) {
      TRY(add_file(std::string(path), std::string(path), files, edits));
    }
  }
  if (request.compute) {
    for (const auto name : kComputeLibraries) TRY(add_library(name, state, files, edits));
    for (const auto path : kComputePrograms) {
      TRY(add_file(std::string(path), std::string(path), files, edits));
    }
  }
  return {};
}

}  // namespace

Edits kernel_edits(const FsRoot& files) {
  Edits edits;
  edits.mounts.push_back(
      {.source = kMachineFolder, .destination = kMachineFolder, .read_only = false});
  edits.env.push_back(fmt::format("TRANCHE_SIM_STATE={}/state", kMachineFolder));
  const auto pci = fmt::format("{}{}", kTreeFolder, kSysStandIn);
  if (files.is_directory(pci) && files.is_directory(std::string(kSysStandIn))) {
    edits.mounts.push_back({.source = pci, .destination = std::string(kSysStandIn)});
  }
  edits.create_container.push_back(
      {.path = std::string(kHookProgram), .args = {"tranche-lab-runtime", "hook", "kernel"}});
  return edits;
}

bool has_driver_nodes(const Json& spec) {
  if (!spec.contains("linux") || !spec["linux"].is_object()) return false;
  const Json devices = spec["linux"].value("devices", Json::array());
  return std::ranges::any_of(
      devices, [](const Json& one) { return one.value("path", "") == kControlNodes.front(); });
}

Result<Edits> driver_edits(const Request& request, const sim::State& state, const FsRoot& files) {
  Edits edits = kernel_edits(files);
  ASSIGN_OR_RETURN(const auto visible, visible_devices(request, state, files));
  for (const auto node : kControlNodes) TRY(add_node(std::string(node), files, edits));
  TRY(add_gpus(visible, state, files, edits));
  TRY(add_driver(request, state, files, edits));
  return edits;
}

}  // namespace tranche::lab
