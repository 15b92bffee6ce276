#include "dra/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/checksum.h"
#include "base/dra_driver.h"

namespace tranche::dra {
namespace {

constexpr std::size_t kLongestName = 253;  // of an object, and of a pool

std::string label_part(std::string_view text) {
  std::string part;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '.') continue;
    part += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return part;
}

}  // namespace

std::string gpu_device_name(const gpu::Gpu& gpu) {
  return fmt::format("gpu-{}", gpu.minor < 0 ? gpu.index : gpu.minor);
}

std::string admin_device_name(const gpu::Gpu& gpu) { return gpu_device_name(gpu) + "-admin"; }

std::string mig_device_name(const gpu::Gpu& gpu, const gpu::GpuInstanceProfile& profile,
                            int start) {
  return fmt::format("{}-mig-{}-{}-{}", gpu_device_name(gpu), label_part(profile.name), profile.id,
                     start);
}

std::string existing_device_name(const gpu::Gpu& gpu, const gpu::MigInstance& instance) {
  return fmt::format("{}-mig-{}-gi{}-ci{}", gpu_device_name(gpu), label_part(instance.profile.name),
                     instance.gpu_instance_id, instance.compute_instance_id);
}

std::string counter_set_name(const gpu::Gpu& gpu) { return gpu_device_name(gpu) + "-counter-set"; }

std::string pool_name(std::string_view node, std::string_view driver) {
  if (driver == kDefaultDraDriver) return fmt::format("gpu-{}", node);
  auto name = fmt::format("gpu-{}/{}", node, driver);
  if (name.size() <= kLongestName) return name;
  return fmt::format("gpu-{:016x}/{}", checksum(node), driver);
}

std::string slice_name(std::string_view node, std::string_view driver, std::size_t number) {
  const auto tail = fmt::format("-{}-{:02}", driver, number);
  if (node.size() + tail.size() <= kLongestName) return fmt::format("{}{}", node, tail);
  const auto sum = fmt::format("-{:016x}", checksum(node));
  auto head = node.substr(0, kLongestName - tail.size() - sum.size());
  while (head.ends_with('.') || head.ends_with('-')) head.remove_suffix(1);
  return fmt::format("{}{}{}", head, sum, tail);
}

std::string semantic_version(std::string_view text) {
  if (text.empty()) return "";
  std::array<std::uint64_t, 3> numbers = {};
  for (std::size_t i = 0; i < numbers.size() && !text.empty(); ++i) {
    std::size_t digits = 0;
    while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) {
      numbers[i] = numbers[i] * 10 + static_cast<std::uint64_t>(text[digits] - '0');
      if (++digits > 9) return "";
    }
    if (digits == 0) return "";
    text.remove_prefix(digits);
    if (text.starts_with('.') && i + 1 < numbers.size() && text.size() > 1) text.remove_prefix(1);
  }
  return text.empty() ? fmt::format("{}", fmt::join(numbers, ".")) : "";
}

}  // namespace tranche::dra
