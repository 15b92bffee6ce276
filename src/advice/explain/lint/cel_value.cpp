#include "explain/lint/cel_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/quantity.h"
#include "explain/lint/place.h"

namespace tranche::lint {
namespace {

using Kind = CelToken::Kind;

constexpr std::int64_t kMostGib = 1024;                    // a number below this is taken for Gi
constexpr std::int64_t kMostMib = std::int64_t{1} << 24U;  // and one below this for Mi: 16 Ti

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string by_order(std::string_view reference, std::string_view function, std::string_view value,
                     const CelComparison& comparison) {
  if (!comparison.method.empty()) {
    return fmt::format("{}.{}({}('{}'))", reference, comparison.method, function, value);
  }
  return fmt::format("{}.compareTo({}('{}')) {} 0", reference, function, value, comparison.sign);
}

// Whether quantities and versions support the comparison without compareTo().
bool is_fine(const CelComparison& comparison) {
  return !comparison.method.empty() || comparison.sign == "==" || comparison.sign == "!=";
}

// "9.0" -> "9.0.0"; nullopt: not a version.
std::optional<std::string> version_of(std::string_view text) {
  int points = 0;
  std::string out;
  std::string number;
  const auto close = [&] {
    if (number.empty() || number.size() > 9) return false;
    number.erase(0, std::min(number.find_first_not_of('0'), number.size() - 1));
    out += number;
    number.clear();
    return true;
  };
  for (const char c : text) {
    if (c == '.') {
      if (!close() || ++points > 2) return std::nullopt;
      out += '.';
    } else if (c >= '0' && c <= '9') {
      number += c;
    } else {
      return std::nullopt;
    }
  }
  if (!close()) return std::nullopt;
  for (; points < 2; ++points) out += ".0";
  return out;
}

}  // namespace

CelRewrite compare_capacity(std::string_view reference, std::string_view name,
                            const CelComparison& comparison) {
  if (comparison.function == "quantity" && is_fine(comparison)) return {};
  CelRewrite result;
  auto value = comparison.literal;
  if (comparison.function == "quantity") {
    result.what = fmt::format("quantities have no {}", comparison.sign);
  } else if (comparison.kind == Kind::kNumber) {
    result.what = "a quantity cannot be compared with a number";
    if (!is_whole_number(value)) return result;
    const auto number = std::stoll(value);
    const bool is_memory = name.ends_with("emory");
    const auto* unit = !is_memory || number >= kMostMib ? "" : number < kMostGib ? "Gi" : "Mi";
    value += unit;
    if (*unit != '\0') result.remark = fmt::format("{} is read as {}", comparison.literal, value);
  } else {
    result.what = "a quantity cannot be compared with a text";
  }
  if (value.find_first_of("'\\") != std::string::npos || !parse_quantity(value)) return result;
  result.text = by_order(reference, "quantity", value, comparison);
  return result;
}

CelRewrite compare_attribute(std::string_view reference, AttributeKind kind,
                             const CelComparison& comparison) {
  CelRewrite result;
  if (!comparison.method.empty() && kind != AttributeKind::kVersion) return result;
  const bool is_number = comparison.kind == Kind::kNumber;
  switch (kind) {
    case AttributeKind::kVersion: {
      const auto version = version_of(comparison.literal);
      const bool as_is = comparison.function == "semver" && version == comparison.literal;
      if (as_is && is_fine(comparison)) return result;
      result.what = as_is ? fmt::format("versions have no {}", comparison.sign)
                          : fmt::format("a version cannot be compared with {}",
                                        comparison.function == "semver" ? "what is no version"
                                        : is_number                     ? "a number"
                                                                        : "a text");
      if (version) result.text = by_order(reference, "semver", *version, comparison);
      return result;
    }
    case AttributeKind::kNumber:
      if (is_number) return result;
      result.what = "a number cannot be compared with a text";
      if (comparison.function.empty() && is_whole_number(comparison.literal)) {
        result.text = fmt::format("{} {} {}", reference, comparison.sign, comparison.literal);
      }
      return result;
    case AttributeKind::kText:
      if (!is_number && comparison.function.empty()) return result;
      result.what = "a text can be compared with a text alone";
      return result;
    case AttributeKind::kTruth:
      result.what = "the attribute is true or false";
      if (is_fine(comparison) && (comparison.literal == "true" || comparison.literal == "false")) {
        result.text = fmt::format("{} {} {}", reference, comparison.sign, comparison.literal);
      }
      return result;
  }
  return result;
}

}  // namespace tranche::lint
