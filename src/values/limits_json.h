#pragma once
// How the limits of a container are written in JSON: limits/v1, arbiter-status/v1 and grant/v1 say
// them alike (docs/schemas/). Included by .cpp files alone.

#include <nlohmann/json_fwd.hpp>

#include "base/json_value.h"
#include "base/result.h"
#include "values/limits.h"

namespace tranche {

// An object with `uuid`, `weight`, and what there is of `memoryBytes`, `memoryBy`, `permille`,
// `memoryHardBytes` and `deviceBytes`.
json::Value json_of(const DeviceLimits& limits);
// An object with `enforcement`, `priority` and `devices`.
json::Value json_of(const GrantLimits& limits);

// What is read of an object may stand beside other members. kInvalidArgument: a member is missing,
// of the wrong type or out of range; says which.
Result<DeviceLimits> device_limits_of(const nlohmann::json& value);
Result<GrantLimits> grant_limits_of(const nlohmann::json& value);

}  // namespace tranche
