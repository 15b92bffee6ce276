#pragma once
// Patches of JSON objects, for FakeObjects.

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::test {

// kInvalidArgument: an invalid patch, or one that does not fit.
Result<nlohmann::json> patched(const nlohmann::json& object, const cluster::Patch& patch);

}  // namespace tranche::test
