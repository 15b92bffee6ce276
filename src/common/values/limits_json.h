#pragma once
// The limits of a container in JSON. limits/v1, arbiter-status/v1 and grant/v1 use the same form
// (docs/schemas/). Only .cpp files include this header.

#include "base/json_fields.h"
#include "base/json_value.h"
#include "values/limits.h"

namespace tranche {

// An object with `uuid` and `weight`, and with `memoryBytes`, `memoryBy`, `permille`,
// `memoryHardBytes` and `deviceBytes` where set.
json::Value json_of(const DeviceLimits& limits);
// An object with `enforcement`, `priority` and `devices`.
json::Value json_of(const GrantLimits& limits);

// These functions read an object that may have other members too. A member that is missing, of the
// wrong kind or out of range is refused.
DeviceLimits device_limits_of(const json::Fields& fields);
GrantLimits grant_limits_of(const json::Fields& fields);

}  // namespace tranche
