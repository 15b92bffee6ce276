#include "config/go_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace tranche::config::go {
namespace {

constexpr std::uint64_t kMaxDuration = std::uint64_t{1} << 63U;

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr std::array kUnits = {
    Unit{"ns", 1},
    Unit{"us", 1'000},
    Unit{"\u00b5s", 1'000},  // micro sign
    Unit{"\u03bcs", 1'000},  // Greek mu
    Unit{"ms", 1'000'000},
    Unit{"s", 1'000'000'000},
    Unit{"m", 60'000'000'000},
    Unit{"h", 3'600'000'000'000},
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// Removes digits from the front of `text`; false: the number overflows.
bool take_digits(std::string_view& text, std::uint64_t& number) {
  while (!text.empty() && is_digit(text.front())) {
    const auto digit = static_cast<std::uint64_t>(text.front() - '0');
    if (__builtin_mul_overflow(number, std::uint64_t{10}, &number) ||
        __builtin_add_overflow(number, digit, &number) || number > kMaxDuration) {
      return false;
    }
    text.remove_prefix(1);
  }
  return true;
}

// Removes ".digits" from the front; the value is in [0, 1). Excess precision is dropped.
double take_fraction(std::string_view& text, bool& any) {
  double value = 0;
  double scale = 1;
  text.remove_prefix(1);
  while (!text.empty() && is_digit(text.front())) {
    any = true;
    scale /= 10;
    value += scale * (text.front() - '0');
    text.remove_prefix(1);
  }
  return value;
}

const Unit* take_unit(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(".0123456789"), text.size());
  const auto unit = std::ranges::find(kUnits, text.substr(0, end), &Unit::name);
  if (unit == kUnits.end()) return nullptr;
  text.remove_prefix(end);
  return &*unit;
}

// Removes one "1.5h" from the front, and adds it to `total`.
bool take_term(std::string_view& text, std::uint64_t& total) {
  std::uint64_t whole = 0;
  bool any = is_digit(text.front());
  if (!any && text.front() != '.') return false;
  if (!take_digits(text, whole)) return false;
  const double fraction = text.starts_with('.') ? take_fraction(text, any) : 0;
  if (!any) return false;
  const Unit* unit = take_unit(text);
  if (unit == nullptr || __builtin_mul_overflow(whole, unit->nanoseconds, &whole)) return false;
  whole += static_cast<std::uint64_t>(
      std::floor(fraction * static_cast<double>(unit->nanoseconds) + 1e-6));
  return !__builtin_add_overflow(total, whole, &total) && total <= kMaxDuration;
}

std::string with_fraction(std::uint64_t value, std::uint64_t unit, std::string_view suffix) {
  std::string text = fmt::format("{}", value / unit);
  std::uint64_t rest = value % unit;
  if (rest != 0) {
    text += '.';
    for (std::uint64_t digit = unit / 10; rest != 0; digit /= 10) {
      text += static_cast<char>('0' + rest / digit);
      rest %= digit;
    }
  }
  return text.append(suffix);
}

bool is_dashed_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

// Removes '_' between digits, or after a base prefix, as in Go's literals. False: one is elsewhere.
// `text`: without its sign.
bool drop_underscores(std::string& text) {
  const char kind = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : ' ';
  const bool based = kind == 'x' || kind == 'o' || kind == 'b';
  const auto joins = [&](char c) { return is_digit(c) || (kind == 'x' && is_hex(c)); };
  bool after_digit = based;
  for (std::size_t i = based ? 2 : 0; i < text.size(); ++i) {
    const bool before_digit = i + 1 < text.size() && joins(text[i + 1]);
    if (text[i] == '_' && !(after_digit && before_digit)) return false;
    after_digit = joins(text[i]);
  }
  std::erase(text, '_');
  return true;
}

}  // namespace

std::optional<bool> parse_bool(std::string_view text) {
  static constexpr std::array<std::string_view, 6> kTrue = {"1", "t", "T", "TRUE", "true", "True"};
  static constexpr std::array<std::string_view, 6> kFalse = {"0",     "f",     "F",
                                                             "FALSE", "false", "False"};
  if (std::ranges::find(kTrue, text) != kTrue.end()) return true;
  if (std::ranges::find(kFalse, text) != kFalse.end()) return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::string plain(text);
  if (!drop_underscores(plain)) return std::nullopt;
  text = plain;
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    base = 8;
    const char kind = text[1] | 0x20;
    if (kind == 'x' || kind == 'o' || kind == 'b') {
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : 2;
      text.remove_prefix(2);
    }
  }
  std::uint64_t magnitude = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, magnitude, base);
  if (text.empty() || error != std::errc() || stop != end || magnitude > INT64_MAX) {
    return std::nullopt;
  }
  const auto value = static_cast<std::int64_t>(magnitude);
  return negative ? -value : value;
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return std::chrono::nanoseconds(0);
  if (text.empty()) return std::nullopt;
  std::uint64_t total = 0;
  while (!text.empty()) {
    if (!take_term(text, total)) return std::nullopt;
  }
  if (total >= kMaxDuration) {
    if (!negative) return std::nullopt;
    return std::chrono::nanoseconds(INT64_MIN);
  }
  const auto value = static_cast<std::int64_t>(total);
  return std::chrono::nanoseconds(negative ? -value : value);
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  const std::string sign = count < 0 ? "-" : "";
  const std::uint64_t value = count < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(count)
                                        : static_cast<std::uint64_t>(count);
  if (value < 1'000) return sign + fmt::format("{}ns", value);
  if (value < 1'000'000) return sign + with_fraction(value, 1'000, "\u00b5s");
  if (value < 1'000'000'000) return sign + with_fraction(value, 1'000'000, "ms");
  const std::uint64_t minutes = value / 60'000'000'000;
  std::string text = sign;
  if (minutes >= 60) text += fmt::format("{}h", minutes / 60);
  if (minutes > 0) text += fmt::format("{}m", minutes % 60);
  return text + with_fraction(value % 60'000'000'000, 1'000'000'000, "s");
}

bool is_uuid(std::string_view text) {
  if (text.size() == 32) return std::ranges::all_of(text, is_hex);
  if (text.size() == 38 && text.starts_with('{') && text.ends_with('}')) {
    return is_dashed_uuid(text.substr(1, 36));
  }
  static constexpr std::string_view kUrn = "urn:uuid:";
  if (text.size() == kUrn.size() + 36) {
    const bool urn = std::ranges::equal(text.substr(0, kUrn.size()), kUrn,
                                        [](char a, char b) { return (a | 0x20) == (b | 0x20); });
    return urn && is_dashed_uuid(text.substr(kUrn.size()));
  }
  return is_dashed_uuid(text);
}

}  // namespace tranche::config::go
