#pragma once
// fleet/v1: a Fleet as JSON (docs/schemas/fleet-v1.schema.json). Each node's `usage` is usage/v1.
// What is unknown or empty has no field; a reader ignores fields that it does not know.

#include <string>
#include <string_view>

#include "base/result.h"
#include "fleet/fleet.h"

namespace tranche::fleet {

// Compact, on one line.
std::string to_json(const Fleet& fleet);

// kInvalidArgument, with the path of the field; kUnsupported: a later version.
Result<Fleet> parse_fleet(std::string_view json);

inline constexpr std::size_t kLongestFleet = std::size_t{256} << 20U;

}  // namespace tranche::fleet
