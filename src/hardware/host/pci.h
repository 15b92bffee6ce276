#pragma once
// Reads NVIDIA's PCI functions from sysfs, and the vGPU capability from their configuration space.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "gpu/ids.h"
#include "gpu/machine.h"

namespace tranche::host {

struct PciFunction {
  gpu::PciAddress address;
  std::uint32_t device_class = 0;  // 0x030200 = 3D controller, 0x030000 = VGA
  std::string config;              // configuration space as far as it is readable

  // VGA or 3D controller, which is how NVIDIA's own tools recognise a GPU.
  bool is_gpu() const { return device_class == 0x030000 || device_class == 0x030200; }
};

// Functions under /sys/bus/pci/devices with vendor 10de, in bus order. An error: the folder cannot
// be read.
Result<std::vector<PciFunction>> read_nvidia_functions(const FsRoot& fs);

// The host driver's version and branch, from a configuration space whose capability list holds
// NVIDIA's vendor capability. That capability is id 9, next, length, 'V', 'F', then records {id,
// length, content}; record 0 holds the version and the branch, ten bytes each. nullopt for anything
// else, and for a truncated or circular list.
std::optional<gpu::VgpuInfo> parse_vgpu(std::string_view config);

}  // namespace tranche::host
