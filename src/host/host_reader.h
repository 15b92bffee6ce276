#pragma once
// What the node's file system says beside NVML: /sys, /proc and /dev through a file-system root.
// Reads only; nothing is kept between calls. Everything here is optional knowledge: what cannot be
// read is absent, as in NVIDIA's feature discovery.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "gpu/machine.h"

namespace tranche::host {

// Where NVIDIA's --machine-type-file points by default.
inline constexpr std::string_view kMachineTypeFile = "/sys/class/dmi/id/product_name";

// Product name (trimmed; absent when the file cannot be read or is empty), PCI classes of NVIDIA's
// display functions in bus order, and the vGPU host driver that a guest sees.
gpu::Host read_host(const FsRoot& fs, const std::filesystem::path& machine_type_file);

// "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset", in this
// order and those only that are character devices under `fs`.
std::vector<std::string> control_nodes(const FsRoot& fs);

// Machines that NVIDIA's plugin serves by other ways than NVML on Linux, which are not supported
// yet.
enum class Platform { kStandard, kTegra, kWsl };

// kWsl: /dev/dxg is there. kTegra: /sys/devices/soc0/family or the device tree says Tegra, or
// /etc/nv_tegra_release is there; NVML on Tegra is no reason to call it standard.
Platform read_platform(const FsRoot& fs);

// Why `platform` is refused and what to do; nullopt for kStandard.
std::optional<Error> refusal(Platform platform);

}  // namespace tranche::host
