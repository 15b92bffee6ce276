#include "gpu/ids.h"

#include <fmt/format.h>

#include <charconv>

namespace tranche::gpu {
namespace {

// Takes the hexadecimal number before `end`, and `end` with it, off `text`; nullopt unless it has
// `min` to `max` digits. `end` 0: the number is the rest of the text.
std::optional<std::uint32_t> take(std::string_view& text, char end, std::size_t min,
                                  std::size_t max) {
  const auto length = end == 0 ? text.size() : text.find(end);
  if (length == std::string_view::npos || length < min || length > max) return std::nullopt;
  std::uint32_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + length, value, 16);
  if (error != std::errc() || stop != text.data() + length) return std::nullopt;
  text.remove_prefix(length + (end == 0 ? 0 : 1));
  return value;
}

}  // namespace

std::string sysfs_name(const PciAddress& address) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", address.domain, address.bus, address.device,
                     address.function);
}

std::string nvml_name(const PciAddress& address) {
  return fmt::format("{:08X}:{:02X}:{:02X}.{:X}", address.domain, address.bus, address.device,
                     address.function);
}

std::optional<PciAddress> parse_pci_address(std::string_view text) {
  const auto domain = take(text, ':', 4, 8);
  if (!domain) return std::nullopt;
  const auto bus = take(text, ':', 2, 2);
  if (!bus) return std::nullopt;
  const auto device = take(text, '.', 2, 2);
  if (!device || *device > 0x1f) return std::nullopt;
  const auto function = take(text, 0, 1, 1);
  if (!function || *function > 7) return std::nullopt;
  return PciAddress{*domain, *bus, *device, *function};
}

}  // namespace tranche::gpu
