#pragma once
// What the kernel and the driver say in /sys and /proc about a GPU, as text to parse: shared by the
// adapters nvml/ and host/, which do the reading. Pure functions; malformed text is no answer,
// never an error, because every one of these facts is optional.

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
// "1\n" is 1; "-1\n" (the firmware does not say) and anything else nullopt.
std::optional<int> parse_numa_node(std::string_view content);

// Minors of the /dev/nvidia-caps nodes that open MIG instances, from lines of mig-minors:
// "gpu0/gi1/access 12" and "gpu0/gi1/ci0/access 13", where gpu0 counts by device minor.
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
