#pragma once
// FNV-1a, 64 bits. It shows that a text is torn or was edited. It does not protect from malice.

#include <cstdint>
#include <string_view>

namespace tranche {

constexpr std::uint64_t checksum(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

}  // namespace tranche
