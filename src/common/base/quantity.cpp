#include "base/quantity.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

namespace tranche {
namespace {

// The value mantissa * 10^decimal * 2^binary. The mantissa has no decimal point.
struct Parts {
  std::uint64_t mantissa = 0;
  int decimal = 0;
  int binary = 0;
  bool negative = false;
};

struct Suffix {
  std::string_view text;
  int decimal;
  int binary;
};

constexpr std::array kSuffixes = {
    Suffix{"", 0, 0},    Suffix{"n", -9, 0},  Suffix{"u", -6, 0},  Suffix{"m", -3, 0},
    Suffix{"k", 3, 0},   Suffix{"M", 6, 0},   Suffix{"G", 9, 0},   Suffix{"T", 12, 0},
    Suffix{"P", 15, 0},  Suffix{"E", 18, 0},  Suffix{"Ki", 0, 10}, Suffix{"Mi", 0, 20},
    Suffix{"Gi", 0, 30}, Suffix{"Ti", 0, 40}, Suffix{"Pi", 0, 50}, Suffix{"Ei", 0, 60},
};

std::optional<int> exponent_of(std::string_view suffix) {
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  auto digits = suffix.substr(1);
  if (digits.starts_with('+')) digits.remove_prefix(1);
  int exponent = 0;
  const auto* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, exponent);
  if (digits.empty() || error != std::errc() || stop != end) return std::nullopt;
  return exponent;
}

bool apply_suffix(std::string_view suffix, Parts& parts) {
  for (const auto& known : kSuffixes) {
    if (suffix != known.text) continue;
    parts.decimal += known.decimal;
    parts.binary = known.binary;
    return true;
  }
  const auto exponent = exponent_of(suffix);
  if (!exponent || *exponent > 100 || *exponent < -100) return false;
  parts.decimal += *exponent;
  return true;
}

// Reads sign, digits and fraction; returns the rest of the text. nullopt: there is no number.
std::optional<std::string_view> read_number(std::string_view text, Parts& parts) {
  if (text.starts_with('-') || text.starts_with('+')) {
    parts.negative = text[0] == '-';
    text.remove_prefix(1);
  }
  bool point = false;
  std::size_t used = 0;
  std::size_t digits = 0;
  for (; used < text.size(); ++used) {
    const char c = text[used];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    ++digits;
    if (__builtin_mul_overflow(parts.mantissa, std::uint64_t{10}, &parts.mantissa) ||
        __builtin_add_overflow(parts.mantissa, static_cast<std::uint64_t>(c - '0'),
                               &parts.mantissa)) {
      return std::nullopt;
    }
    if (point) --parts.decimal;
  }
  if (digits == 0) return std::nullopt;
  return text.substr(used);
}

// The value as a whole number; nullopt: it does not fit.
std::optional<std::int64_t> evaluate(const Parts& parts, Rounding rounding) {
  __extension__ using Wide = unsigned __int128;
  constexpr auto kLimit = static_cast<Wide>(INT64_MAX);
  Wide value = parts.mantissa;
  if (value == 0) return 0;
  value <<= static_cast<unsigned>(parts.binary);
  if (value >> static_cast<unsigned>(parts.binary) != parts.mantissa) return std::nullopt;
  for (int i = 0; i < parts.decimal; ++i) {
    if (value > kLimit) return std::nullopt;
    value *= 10;
  }
  bool rest = false;
  for (int i = 0; i > parts.decimal && value != 0; --i) {
    rest = rest || value % 10 != 0;
    value /= 10;
  }
  if (rest && rounding == Rounding::kUp) ++value;
  if (value > kLimit) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(value);
  return parts.negative ? -whole : whole;
}

// The value times 10^shift.
Result<std::int64_t> parse_shifted(std::string_view text, int shift, Rounding rounding) {
  Parts parts{.decimal = shift};
  const auto suffix = read_number(text, parts);
  const bool known = suffix && apply_suffix(*suffix, parts);
  const auto value = known ? evaluate(parts, rounding) : std::nullopt;
  if (value) return *value;
  return fail(Code::kInvalidArgument, fmt::format("'{}' is no quantity", text.substr(0, 64)),
              "write a number with an optional suffix, such as 512Mi, 2Gi or 1.5");
}

}  // namespace

Result<std::int64_t> parse_quantity(std::string_view text) {
  return parse_shifted(text, 0, Rounding::kUp);
}

Result<std::int64_t> parse_milli_quantity(std::string_view text, Rounding rounding) {
  return parse_shifted(text, 3, rounding);
}

Result<Bytes> parse_bytes(std::string_view text) {
  ASSIGN_OR_RETURN(const auto value, parse_quantity(text));
  if (value < 0) {
    return fail(Code::kInvalidArgument, fmt::format("'{}' is negative", text.substr(0, 64)),
                "write a size of zero or more bytes");
  }
  return Bytes{static_cast<std::uint64_t>(value)};
}

std::string to_quantity(std::uint64_t value) {
  constexpr std::array<std::string_view, 5> kUnits = {"", "Ki", "Mi", "Gi", "Ti"};
  std::size_t unit = 0;
  while (value != 0 && value % 1024 == 0 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{}{}", value, kUnits[unit]);
}

}  // namespace tranche
