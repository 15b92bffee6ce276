#pragma once
// Reads the facts about a node that NVML does not report: from /sys, /proc and /dev, seen through a
// file-system root. Read-only; keeps no state between calls. Every fact is optional: absent if it
// cannot be read, as in NVIDIA's feature discovery.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/fs.h"
#include "gpu/machine.h"

namespace tranche::host {

// The default of NVIDIA's --machine-type-file.
inline constexpr std::string_view kMachineTypeFile = "/sys/class/dmi/id/product_name";

// Reads the product name (trimmed; absent when the file cannot be read or is empty), the PCI
// classes of NVIDIA's display functions, and the vGPU host driver as a guest sees it.
gpu::Host read_host(const FsRoot& fs, const std::filesystem::path& machine_type_file);

// Returns those of "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools" and
// "/dev/nvidia-modeset" that are character devices under `fs`, in this order.
std::vector<std::string> control_nodes(const FsRoot& fs);

// kTegra and kWsl: machines that NVIDIA's plugin does not serve through NVML on Linux. They are not
// supported yet.
enum class Platform { kStandard, kTegra, kWsl };

// kWsl: /dev/dxg exists. kTegra: /etc/nv_tegra_release exists, or /sys/devices/soc0/family or the
// device tree says Tegra; a Tegra with NVML is kTegra too.
Platform read_platform(const FsRoot& fs);

// Why `platform` is refused, with what to do; nullopt for kStandard.
std::optional<Error> refusal(Platform platform);

}  // namespace tranche::host
