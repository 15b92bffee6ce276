#include "sim/machine/identity.h"

#include <charconv>

#include "fmt/format.h"

namespace tranche::sim {

std::optional<PciAddress> parse_pci(std::string_view text) {
  std::uint32_t part[4] = {};
  const char* at = text.data();
  const char* end = at + text.size();
  constexpr char kAfter[] = {':', ':', '.', '\0'};
  for (int i = 0; i < 4; ++i) {
    const auto [next, error] = std::from_chars(at, end, part[i], 16);
    if (error != std::errc()) return std::nullopt;
    if (i == 3)
      return next == end ? std::optional(PciAddress{part[0], part[1], part[2]}) : std::nullopt;
    if (next == end || *next != kAfter[i]) return std::nullopt;
    at = next + 1;
  }
  return std::nullopt;
}

std::string make_uuid(std::string_view words) {
  const auto hash = [&](std::uint64_t value) {
    for (const char c : words) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
    value ^= value >> 32U;
    return value * 0x9E3779B97F4A7C15U;
  };
  const std::uint64_t high = hash(0xCBF29CE484222325U);
  const std::uint64_t low = hash(0x84222325CBF29CE4U);
  // Version 5 (made from a name), the variant of RFC 4122.
  return fmt::format("{:08x}-{:04x}-5{:03x}-{:04x}-{:012x}", high >> 32U, high >> 16U & 0xFFFFU,
                     high & 0xFFFU, (low >> 48U & 0x3FFFU) | 0x8000U, low & 0xFFFFFFFFFFFFU);
}

std::array<unsigned char, 16> uuid_bytes(std::string_view uuid) {
  std::array<unsigned char, 16> bytes = {};
  if (uuid.starts_with("GPU-") || uuid.starts_with("MIG-")) uuid.remove_prefix(4);
  std::size_t digits = 0;
  for (const char c : uuid) {
    const char text[] = {c, '\0'};
    unsigned value = 0;
    if (std::from_chars(text, text + 1, value, 16).ec != std::errc() || digits == 32) continue;
    bytes[digits / 2] = static_cast<unsigned char>(bytes[digits / 2] << 4U | value);
    ++digits;
  }
  return bytes;
}

}  // namespace tranche::sim
