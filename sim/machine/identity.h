#pragma once
// Identifiers of GPUs: PCI addresses and UUIDs. Pure functions.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tranche::sim {

struct PciAddress {
  std::uint32_t domain;
  std::uint32_t bus;
  std::uint32_t device;
};

// "0000:3B:00.0" in any case and with any domain width; nullopt if it is not a PCI address.
std::optional<PciAddress> parse_pci(std::string_view text);
// A UUID derived from words, always the same for the same words: "1b4e28ba-2fa1-...".
std::string make_uuid(std::string_view words);
std::array<unsigned char, 16> uuid_bytes(std::string_view uuid);

}  // namespace tranche::sim
