#include "host/host_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "host/pci.h"

namespace tranche::host {
namespace {

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\0";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

bool says_tegra(const FsRoot& fs, const char* path) {
  auto content = fs.read(path);
  if (!content) return false;
  std::ranges::transform(*content, content->begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return content->find("tegra") != std::string::npos;
}

}  // namespace

gpu::Host read_host(const FsRoot& fs, const std::filesystem::path& machine_type_file) {
  gpu::Host host;
  host.cgroup_v2 = fs.exists("/sys/fs/cgroup/cgroup.controllers");
  if (const auto content = fs.read(machine_type_file)) host.product_name = trimmed(*content);
  const auto functions = read_nvidia_functions(fs);
  host.pci_known = functions.has_value();
  if (!functions) return host;
  for (const auto& function : *functions) {
    if (function.is_gpu()) host.display_classes[function.address] = function.device_class;
    if (!host.vgpu) host.vgpu = parse_vgpu(function.config);
  }
  return host;
}

std::vector<std::string> control_nodes(const FsRoot& fs) {
  static constexpr std::array kNodes = {"/dev/nvidiactl", "/dev/nvidia-uvm",
                                        "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"};
  std::vector<std::string> present;
  std::ranges::copy_if(kNodes, std::back_inserter(present),
                       [&](const char* node) { return fs.is_char_device(node); });
  return present;
}

Platform read_platform(const FsRoot& fs) {
  if (fs.exists("/dev/dxg")) return Platform::kWsl;
  const bool tegra = fs.exists("/etc/nv_tegra_release") ||
                     says_tegra(fs, "/sys/devices/soc0/family") ||
                     says_tegra(fs, "/proc/device-tree/compatible");
  return tegra ? Platform::kTegra : Platform::kStandard;
}

std::optional<Error> refusal(Platform platform) {
  switch (platform) {
    case Platform::kTegra:
      return Error{
          .code = Code::kUnsupported,
          .what = "this is a Tegra (Jetson) system; its integrated GPU is not supported yet",
          .hint =
              "run NVIDIA's own device plugin on Jetson nodes and keep this agent off "
              "them with a node selector"};
    case Platform::kWsl:
      return Error{.code = Code::kUnsupported,
                   .what = "this is WSL (/dev/dxg); GPUs under WSL are not supported yet",
                   .hint =
                       "run NVIDIA's own device plugin there, or a Linux node with the NVIDIA "
                       "driver"};
    case Platform::kStandard:
      break;
  }
  return std::nullopt;
}

}  // namespace tranche::host
