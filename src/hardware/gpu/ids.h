#pragma once
// Hardware identifiers, each its own type, so that one cannot be passed for another.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::gpu {

// "GPU-8dcd427f-483b-b48f-d7e5-75fb19a52b76", as nvmlDeviceGetUUID prints it.
struct GpuUuid {
  std::string value;
  auto operator<=>(const GpuUuid&) const = default;
};

// "MIG-3eb87630-93d5-b2b6-b8ff-9b359caf4ee2", as nvmlDeviceGetUUID prints it for a MIG device.
struct MigUuid {
  std::string value;
  auto operator<=>(const MigUuid&) const = default;
};

// A GPU's address on the PCI bus.
struct PciAddress {
  std::uint32_t domain = 0;
  std::uint32_t bus = 0;
  std::uint32_t device = 0;
  std::uint32_t function = 0;

  auto operator<=>(const PciAddress&) const = default;
};

// sysfs's spelling: "0000:3b:00.0".
std::string sysfs_name(const PciAddress& address);
// NVML's spelling: "00000000:3B:00.0".
std::string nvml_name(const PciAddress& address);
// Reads both spellings; nullopt for anything else.
std::optional<PciAddress> parse_pci_address(std::string_view text);

// The card's type, from the PCI configuration space (nvmlPciInfo_t). Device in the upper half,
// vendor in the lower: 0x20B210DE.
struct PciIds {
  std::uint32_t device = 0;     // 0: not reported by the driver
  std::uint32_t subsystem = 0;  // of the board; 0: none
  auto operator<=>(const PciIds&) const = default;
};

// CUDA compute capability, 8.9 = {8, 9}. major 0: unknown.
struct ComputeCapability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
};

}  // namespace tranche::gpu
