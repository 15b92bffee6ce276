#pragma once
// Parses what the kernel and the driver report about a GPU in /sys and /proc. The adapters nvml/
// and host/ read the files. Pure functions. Each of these facts is optional, so malformed text
// gives nullopt, never an error.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "gpu/ids.h"

namespace tranche::gpu {

inline constexpr std::string_view kMigMinorsPath = "/proc/driver/nvidia-caps/mig-minors";

// /sys/bus/pci/devices/<address>/numa_node
std::filesystem::path numa_node_path(const PciAddress& address);
// "1\n" gives 1. "-1\n" (not reported by the firmware) and anything else give nullopt.
std::optional<int> parse_numa_node(std::string_view content);

// /sys/bus/pci/devices/<address>, a link to the device's place below its root.
std::filesystem::path pci_device_path(const PciAddress& address);
// "../../../devices/pci0000:44/0000:44:01.0/0000:45:00.0" gives "pci0000:44".
std::optional<std::string> parse_pcie_root(std::string_view link);

// The minor numbers of the device nodes in /dev/nvidia-caps that open MIG instances, from the lines
// of mig-minors: "gpu0/gi1/access 12" and "gpu0/gi1/ci0/access 13". The 0 of gpu0 is the GPU's
// device minor.
class MigMinors {
 public:
  static MigMinors parse(std::string_view content);

  std::optional<int> gpu_instance(int gpu_minor, int gpu_instance) const;
  std::optional<int> compute_instance(int gpu_minor, int gpu_instance, int compute_instance) const;
  bool empty() const { return minors_.empty(); }

 private:
  std::optional<int> find(const std::string& path) const;
  std::map<std::string, int, std::less<>> minors_;
};

}  // namespace tranche::gpu
