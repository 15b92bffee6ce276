#include "admission/amount.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/quantity.h"

namespace tranche::admission {
namespace {

constexpr std::size_t kLongestNumber = 64;
constexpr int kHighestExponent = 100;  // as in parse_quantity()

// 0.digits * 10^point; the first digit is not 0. No digits: zero.
struct Decimal {
  bool negative = false;
  std::string digits;
  int point = 0;

  bool is_whole() const { return std::cmp_less_equal(digits.size(), std::max(point, 0)); }
  // The digit `place` after the point: 1 for tenths.
  int digit(int place) const {
    const int at = place - 1 + point;
    if (at < 0 || std::cmp_greater_equal(at, digits.size())) return 0;
    return digits[static_cast<std::size_t>(at)] - '0';
  }
};

// A decimal suffix's power of ten; nullopt: a power of two, or not a Kubernetes suffix.
std::optional<int> power_of(std::string_view suffix) {
  constexpr std::array kPowers = {std::pair{"", 0},   std::pair{"n", -9}, std::pair{"u", -6},
                                  std::pair{"m", -3}, std::pair{"k", 3},  std::pair{"M", 6},
                                  std::pair{"G", 9},  std::pair{"T", 12}, std::pair{"P", 15},
                                  std::pair{"E", 18}};
  for (const auto& [name, power] : kPowers) {
    if (suffix == name) return power;
  }
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  suffix.remove_prefix(suffix[1] == '+' ? 2 : 1);
  int power = 0;
  const auto [stop, error] = std::from_chars(suffix.data(), suffix.data() + suffix.size(), power);
  if (error != std::errc() || stop != suffix.data() + suffix.size()) return std::nullopt;
  return std::abs(power) <= kHighestExponent ? std::optional(power) : std::nullopt;
}

// `text` must be a valid quantity.
std::optional<Decimal> decimal_of(std::string_view text) {
  Decimal value;
  value.negative = text.starts_with('-');
  if (value.negative || text.starts_with('+')) text.remove_prefix(1);
  const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto power = power_of(text.substr(end));
  if (!power) return std::nullopt;
  const auto number = text.substr(0, end);
  const auto point = std::min(number.find('.'), number.size());
  value.digits = std::string(number.substr(0, point));
  if (point < number.size()) value.digits += number.substr(point + 1);
  value.point = static_cast<int>(point) + *power;
  const auto zeros = std::min(value.digits.find_first_not_of('0'), value.digits.size());
  value.digits.erase(0, zeros);
  value.point -= static_cast<int>(zeros);
  while (value.digits.ends_with('0')) value.digits.pop_back();
  return value;
}

std::string hundredths_text(int hundredths) { return permille_text(hundredths * 10); }

std::unexpected<Error> refuse_number(std::string_view text, std::string_view why,
                                     std::string hint) {
  return fail(Code::kInvalidArgument, fmt::format("{} {}", printable(text, kLongestNumber), why),
              std::move(hint));
}

// The nearest steps to a number between 0 and 1 that is not a step.
std::string nearest_steps(const Decimal& value) {
  const int below = 10 * value.digit(1) + value.digit(2);
  if (below == 0) return "write 0.01 or more";
  const auto above = below == 99 ? "1" : hundredths_text(below + 1);
  return fmt::format("write {} or {}", hundredths_text(below), above);
}

}  // namespace

std::string permille_text(int permille) {
  auto text = fmt::format("{}.{:03}", permille / 1000, permille % 1000);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

Result<Amount> parse_amount(std::string_view text) {
  constexpr std::string_view kWrite = "write a whole number, or a fraction such as 0.5";
  const auto rounded = parse_quantity(text);
  if (!rounded || text.size() > kLongestNumber) {
    return refuse_number(text, "is no number of GPUs", std::string(kWrite));
  }
  const auto value = decimal_of(text);
  if (!value) {  // 2Ki
    const bool is_whole = text.find('.') == std::string_view::npos && *rounded >= 0;
    if (is_whole) return Amount{.whole = *rounded};
    return refuse_number(text, "is no number of GPUs", std::string(kWrite));
  }
  if (value->digits.empty()) return Amount{};
  if (value->negative) return refuse_number(text, "is negative", std::string(kWrite));
  if (value->is_whole()) return Amount{.whole = *rounded};
  if (value->point > 0) {
    return refuse_number(text, "is neither a whole number nor below 1",
                         fmt::format("write {} or {} for whole GPUs, or a fraction such as 0.5 in "
                                     "each of several containers",
                                     *rounded - 1, *rounded));
  }
  if (std::cmp_greater(value->digits.size(), value->point + 2)) {
    return refuse_number(text, "is no step of 0.01", nearest_steps(*value));
  }
  return Amount{.hundredths = 10 * value->digit(1) + value->digit(2)};
}

Result<Amount> parse_amount(json::View value) {
  if (value.kind() == json::Kind::kNumber) return parse_amount(value.text());
  if (const auto text = value.as_string()) return parse_amount(*text);
  return fail(Code::kInvalidArgument,
              fmt::format("it is {} where a number is expected", describe(value.kind())),
              "write a whole number, or a fraction such as 0.5");
}

std::string to_string(const Amount& amount) {
  return amount.is_fraction() ? hundredths_text(amount.hundredths) : std::to_string(amount.whole);
}

}  // namespace tranche::admission
