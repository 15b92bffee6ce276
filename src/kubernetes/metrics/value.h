#pragma once
// Numbers of a page. What is counted in whole units stays exact up to 2^64, whatever unit it is
// written in: nanoseconds become seconds by moving the decimal point, not by dividing.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace tranche::metrics {

// units / 10^places. At most 19 places.
struct Decimal {
  std::uint64_t units = 0;
  int places = 0;
  bool operator==(const Decimal&) const = default;
};

using Value = std::variant<Decimal, double>;

inline Value whole(std::uint64_t units) { return Decimal{units, 0}; }
// In seconds. nullopt: negative, which no figure of ours can be.
std::optional<Value> seconds(std::chrono::nanoseconds duration);

// False: NaN or infinite. Such a value is never written: it is no measurement.
bool is_finite(const Value& value);

// Appends a finite `value`: a double in the shortest form that reads back as the same double.
void append(std::string& out, const Value& value);

}  // namespace tranche::metrics
