#include "limit/uuid_bytes.h"

#include <charconv>

namespace tranche::limit {

std::optional<UuidBytes> uuid_bytes(std::string_view uuid) {
  if (uuid.starts_with("GPU-") || uuid.starts_with("MIG-")) uuid.remove_prefix(4);
  if (uuid.size() != 36) return std::nullopt;
  UuidBytes bytes{};
  std::size_t at = 0;
  for (unsigned char& byte : bytes) {
    if (at == 8 || at == 13 || at == 18 || at == 23) {
      if (uuid[at++] != '-') return std::nullopt;
    }
    const char* digits = uuid.data() + at;
    const auto read = std::from_chars(digits, digits + 2, byte, 16);
    if (read.ec != std::errc{} || read.ptr != digits + 2) return std::nullopt;
    at += 2;
  }
  return bytes;
}

}  // namespace tranche::limit
