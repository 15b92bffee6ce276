#pragma once
// Reads Kubernetes quantities ("315Mi", "0.5", "12e6") exactly, and writes whole ones.
// Source: resource.Quantity of k8s.io/apimachinery (canonical forms, suffixes, rounding up).

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace tranche {

// The value rounded up to a whole number, as Quantity.Value() does ("0.5" -> 1, "1500m" -> 2).
// Accepts a sign, a decimal fraction, binary (Ki..Ei) and decimal (n, u, m, k..E) suffixes and
// exponents (e3, E3). kInvalidArgument: anything else, or a value that does not fit into 63 bits.
Result<std::int64_t> parse_quantity(std::string_view text);

// Which way to round below the unit: away from zero, or towards it.
enum class Rounding { kUp, kDown };

// The value in thousandths: "2.5" -> 2500. Errors: see parse_quantity().
Result<std::int64_t> parse_milli_quantity(std::string_view text, Rounding rounding);

// A quantity in bytes; negative ones are refused.
Result<Bytes> parse_bytes(std::string_view text);

// A whole number in the largest binary unit that divides it: "46068Mi", "100".
std::string to_quantity(std::uint64_t value);

}  // namespace tranche
