#pragma once
// Parses a whole text as a number.

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace tranche::sim {

// nullopt: it is not a number, or something follows it.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number value = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace tranche::sim
