#include "gpu/sysfs.h"

#include <fmt/format.h>

#include <charconv>

#include "base/lines.h"

namespace tranche::gpu {
namespace {

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::optional<int> natural(std::string_view text) {
  int value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::filesystem::path numa_node_path(const PciAddress& address) {
  return fmt::format("/sys/bus/pci/devices/{}/numa_node", sysfs_name(address));
}

std::optional<int> parse_numa_node(std::string_view content) { return natural(trim(content)); }

std::filesystem::path pci_device_path(const PciAddress& address) {
  return fmt::format("/sys/bus/pci/devices/{}", sysfs_name(address));
}

std::optional<std::string> parse_pcie_root(std::string_view link) {
  constexpr std::string_view kRoot = "pci0000:44";  // or with a longer domain
  for (const auto& part : std::filesystem::path(link)) {
    const auto& name = part.native();
    if (!name.starts_with("pci") || name.size() < kRoot.size()) continue;
    const auto number = name.find_first_not_of("0123456789abcdef:", 3);
    if (number == std::string::npos && name.find(':') != std::string::npos) return name;
  }
  return std::nullopt;
}

MigMinors MigMinors::parse(std::string_view content) {
  MigMinors result;
  while (!content.empty()) {
    const auto line = trim(take_line(content));
    const auto space = line.find_last_of(" \t");
    if (space == std::string_view::npos) continue;
    const auto minor = natural(line.substr(space + 1));
    if (minor) result.minors_.emplace(trim(line.substr(0, space)), *minor);
  }
  return result;
}

std::optional<int> MigMinors::find(const std::string& path) const {
  const auto found = minors_.find(path);
  return found == minors_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int> MigMinors::gpu_instance(int gpu_minor, int gpu_instance) const {
  return find(fmt::format("gpu{}/gi{}/access", gpu_minor, gpu_instance));
}

std::optional<int> MigMinors::compute_instance(int gpu_minor, int gpu_instance,
                                               int compute_instance) const {
  return find(fmt::format("gpu{}/gi{}/ci{}/access", gpu_minor, gpu_instance, compute_instance));
}

}  // namespace tranche::gpu
