#include "load/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace tranche::load {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
constexpr auto kUnits = std::to_array<Unit>(
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}});
constexpr double kLongest = 366 * 24 * 3600e9;

}  // namespace

Result<nanoseconds> parse_duration(std::string_view text) {
  double value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& known : kUnits) {
    if (error != std::errc() || unit != known.name) continue;
    const double ns = value * known.ns;
    if (!std::isfinite(ns) || ns < 0 || ns > kLongest) break;
    return nanoseconds(static_cast<nanoseconds::rep>(std::llround(ns)));
  }
  return fail(Code::kInvalidArgument, fmt::format("'{}' is no duration", text),
              "write a number and its unit: ns, us, ms, s, m or h (200us, 1.5ms, 10s)");
}

std::string human(nanoseconds time) {
  const auto ns = static_cast<double>(time.count());
  for (const auto& [name, unit] : {Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}}) {
    const double value = ns / unit;
    if (value >= 999.5) continue;
    if (unit == 1) return fmt::format("{:.0f} {}", value, name);
    return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : (value < 99.95 ? 1 : 0), name);
  }
  return fmt::format("{:.2f} s", ns / 1e9);
}

}  // namespace tranche::load
