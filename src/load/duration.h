#pragma once
// Durations as users write and read them.

#include <string>
#include <string_view>

#include "load/load.h"

namespace tranche::load {

// "200us", "1.5ms", "10s", "5m", "2h", "800ns". kInvalidArgument for anything else, for what is
// negative, and for more than a year.
Result<nanoseconds> parse_duration(std::string_view text);

// Three digits and a unit: "812 ns", "20.0 us", "2.01 ms", "1.20 s".
std::string human(nanoseconds time);

}  // namespace tranche::load
