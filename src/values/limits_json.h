#pragma once
// How the limits of a container are written in JSON: limits/v1, arbiter-status/v1 and grant/v1 say
// them alike (docs/schemas/). Included by .cpp files alone.

#include "base/json_fields.h"
#include "base/json_value.h"
#include "values/limits.h"

namespace tranche {

// An object with `uuid`, `weight`, and what there is of `memoryBytes`, `memoryBy`, `permille`,
// `memoryHardBytes` and `deviceBytes`.
json::Value json_of(const DeviceLimits& limits);
// An object with `enforcement`, `priority` and `devices`.
json::Value json_of(const GrantLimits& limits);

// What is read of an object may stand beside other members. A member that is missing, of the wrong
// kind or out of range is refused.
DeviceLimits device_limits_of(const json::Fields& fields);
GrantLimits grant_limits_of(const json::Fields& fields);

}  // namespace tranche
