#pragma once
// Times as Kubernetes writes them: RFC 3339 in UTC, MicroTime with six digits of a second.

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::cluster {

using WallTime = std::chrono::system_clock::time_point;

// "2026-01-01T00:00:00.000000Z"; truncated to microseconds.
std::string micro_time(WallTime time);
// "2026-01-01T00:00:00Z", as in conditions; truncated to seconds.
std::string whole_second_time(WallTime time);
// With or without fraction (up to nine digits), with Z or an offset.
Result<WallTime> parse_time(std::string_view text);

}  // namespace tranche::cluster
