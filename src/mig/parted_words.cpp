#include "mig/parted_words.h"

#include <algorithm>
#include <charconv>

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

bool takes_number(std::string_view& text, std::string_view unit) {
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  if (digits == 0 || digits > 4 || !text.substr(digits).starts_with(unit)) return false;
  text.remove_prefix(digits + unit.size());
  return true;
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

bool is_profile_name(std::string_view text) {
  auto rest = text;
  if (takes_number(rest, "c.")) text = rest;
  if (!takes_number(text, "g.") || !takes_number(text, "gb")) return false;
  if (text.empty()) return true;
  if (text.size() < 2 || (text[0] != '+' && text[0] != '-')) return false;
  return std::ranges::all_of(text.substr(1), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == ',';
  });
}

bool is_layout_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestLayoutName &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace tranche::mig
