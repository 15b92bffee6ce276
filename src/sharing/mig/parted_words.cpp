#include "mig/parted_words.h"

#include <algorithm>
#include <charconv>

#include "gpu/mig_name.h"

namespace tranche::mig {
namespace {

constexpr std::size_t kLongestLayoutName = 253;

std::optional<std::uint32_t> read_id(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<DeviceFilter> read_filter(const std::string& text) {
  DeviceFilter filter{.text = text};
  const auto colon = text.find(':');
  const auto device = read_id(std::string_view(text).substr(0, colon));
  if (!device) return std::nullopt;
  filter.device = *device;
  if (colon == std::string::npos) return filter;
  filter.subsystem = read_id(std::string_view(text).substr(colon + 1));
  if (!filter.subsystem) return std::nullopt;
  return filter;
}

// Later drivers may have other attributes.
bool is_profile_name(std::string_view text) {
  const auto attributes = std::min(text.find_first_of("+-"), text.size());
  if (!gpu::parse_mig_name(text.substr(0, attributes))) return false;
  text.remove_prefix(attributes);
  return text.size() != 1 && std::ranges::all_of(text.substr(text.empty() ? 0 : 1), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == ',';
         });
}

bool is_layout_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestLayoutName &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace tranche::mig
