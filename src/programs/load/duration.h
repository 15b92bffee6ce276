#pragma once
// Parses and prints durations for users.

#include <string>
#include <string_view>

#include "load/load.h"

namespace tranche::load {

// Parses "200us", "1.5ms", "10s", "5m", "2h", "800ns". kInvalidArgument: anything else, a negative
// duration, or more than a year.
Result<nanoseconds> parse_duration(std::string_view text);

// Prints three digits and a unit: "812 ns", "20.0 us", "2.01 ms", "1.20 s".
std::string human(nanoseconds time);

}  // namespace tranche::load
