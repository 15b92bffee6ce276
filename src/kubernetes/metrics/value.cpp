#include "metrics/value.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace tranche::metrics {
namespace {

void append_double(std::string& out, double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  out.append(buffer.data(), end.ptr);
}

void append_decimal(std::string& out, const Decimal& decimal) {
  std::array<char, 20> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), decimal.units);
  const std::string_view digits(buffer.data(), end.ptr);
  const auto places = static_cast<std::size_t>(decimal.places);
  const std::size_t before = digits.size() > places ? digits.size() - places : 0;
  out += before == 0 ? "0" : digits.substr(0, before);
  const std::string_view after = digits.substr(before);
  const std::size_t last = after.find_last_not_of('0');
  if (last == std::string_view::npos) return;
  out += '.';
  out.append(places - after.size(), '0');
  out += after.substr(0, last + 1);
}

}  // namespace

std::optional<Value> seconds(std::chrono::nanoseconds duration) {
  if (duration.count() < 0) return std::nullopt;
  return Decimal{static_cast<std::uint64_t>(duration.count()), 9};
}

bool is_finite(const Value& value) {
  const auto* number = std::get_if<double>(&value);
  return number == nullptr || std::isfinite(*number);
}

void append(std::string& out, const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return append_double(out, *number);
  append_decimal(out, std::get<Decimal>(value));
}

}  // namespace tranche::metrics
