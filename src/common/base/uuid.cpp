#include "base/uuid.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <random>

namespace tranche {

std::string random_uuid() {
  std::array<std::uint8_t, 16> bytes{};
  // 16 bytes always come whole; the call fails only on kernels without getrandom.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    std::random_device device;
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(device());
  }
  bytes[6] = static_cast<std::uint8_t>((bytes[6] & 0x0FU) | 0x40U);
  bytes[8] = static_cast<std::uint8_t>((bytes[8] & 0x3FU) | 0x80U);
  const auto* b = bytes.data();
  return fmt::format("{:02x}-{:02x}-{:02x}-{:02x}-{:02x}", fmt::join(b, b + 4, ""),
                     fmt::join(b + 4, b + 6, ""), fmt::join(b + 6, b + 8, ""),
                     fmt::join(b + 8, b + 10, ""), fmt::join(b + 10, b + 16, ""));
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::ranges::equal(text, kForm, [](char c, char form) {
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    return form == '-' ? c == '-' : digit;
  });
}

}  // namespace tranche
