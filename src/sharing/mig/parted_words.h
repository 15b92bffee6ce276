#pragma once
// The words of a mig-parted file. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::mig {

struct DeviceFilter {
  std::string text;                        // as written
  std::uint32_t device = 0;                // 0xDDDDVVVV: device id, vendor id
  std::optional<std::uint32_t> subsystem;  // 0xSSSSssss
  bool operator==(const DeviceFilter&) const = default;
};

// "0x20B210DE", "0x20B210DE:0x147F10DE", or the same as decimal numbers. nullopt: anything else.
std::optional<DeviceFilter> read_filter(const std::string& text);

// "1g.10gb", "1c.3g.40gb", "1g.10gb+me", "1g.24gb+me.all", "1g.24gb-me".
bool is_profile_name(std::string_view text);

// Printable, without white space, at most 253 characters.
bool is_layout_name(std::string_view text);

}  // namespace tranche::mig
