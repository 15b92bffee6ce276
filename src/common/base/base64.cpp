#include "base/base64.h"

#include <cstddef>
#include <cstdint>

namespace tranche {
namespace {

int sextet(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  int padding = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const int value = sextet(c);
    if (value < 0 || padding > 0) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    if (++count % 4 == 0) {
      out += static_cast<char>(bits >> 16U & 0xFFU);
      out += static_cast<char>(bits >> 8U & 0xFFU);
      out += static_cast<char>(bits & 0xFFU);
    }
  }
  const int rest = count % 4;
  if (rest == 1 || padding != (4 - rest) % 4) return std::nullopt;
  if (rest >= 2) out += static_cast<char>(bits >> (rest == 2 ? 4U : 10U) & 0xFFU);
  if (rest == 3) out += static_cast<char>(bits >> 2U & 0xFFU);
  return out;
}

std::string encode_base64(std::string_view bytes) {
  static constexpr std::string_view kLetters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) -> std::uint32_t {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
    };
    const auto bits = byte(i) << 16U | byte(i + 1) << 8U | byte(i + 2);
    out += kLetters[bits >> 18U & 63U];
    out += kLetters[bits >> 12U & 63U];
    out += i + 1 < bytes.size() ? kLetters[bits >> 6U & 63U] : '=';
    out += i + 2 < bytes.size() ? kLetters[bits & 63U] : '=';
  }
  return out;
}

}  // namespace tranche
