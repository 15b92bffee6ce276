#include "mps/order.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace tranche::mps {
namespace {

constexpr std::size_t kLongestWords = 300;

}  // namespace

std::string shown(const Order& order) {
  if (order.arguments.empty()) return order.input;
  return fmt::format("{}", fmt::join(order.arguments, " "));
}

std::string words(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (text.ends_with(' ')) text.pop_back();
  return std::string(utf8_prefix(text, kLongestWords));
}

std::optional<int> count_in(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

}  // namespace tranche::mps
