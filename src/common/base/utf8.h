#pragma once
// Reads UTF-8 as RFC 3629 defines it.

#include <cstddef>
#include <string_view>

namespace tranche {

struct Utf8Step {
  std::size_t length = 0;
  bool is_valid = false;
};

// The length of the first code point of `text`, which must not be empty. If `text` does not begin
// with a valid code point: how many bytes one U+FFFD replaces, as Unicode recommends (the longest
// prefix of a valid code point, or one byte).
inline Utf8Step utf8_step(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto in = [&](std::size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return {1, true};
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0) return {1, false};
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (!in(1, low, high)) return {1, false};
  for (std::size_t i = 2; i < length; ++i) {
    if (!in(i, 0x80, 0xBF)) return {i, false};
  }
  return {length, true};
}

// At most `most` bytes, never splitting a character.
inline std::string_view utf8_prefix(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t length = 0;
  while (length + utf8_step(text.substr(length)).length <= most) {
    length += utf8_step(text.substr(length)).length;
  }
  return text.substr(0, length);
}

}  // namespace tranche
