#pragma once
// Quantities that carry their unit.

#include <compare>
#include <cstdint>

namespace tranche {

// A size in bytes. 1 MiB = 2^20 bytes. NVML reports bytes; NVIDIA's labels hold whole MiB.
struct Bytes {
  std::uint64_t value = 0;

  static constexpr Bytes from_mib(std::uint64_t mib) { return {mib << 20U}; }
  constexpr std::uint64_t mib() const { return value >> 20U; }  // rounded down
  auto operator<=>(const Bytes&) const = default;
};

}  // namespace tranche
