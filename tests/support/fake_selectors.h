#pragma once
// Label and field selectors on JSON objects, for FakeObjects.

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::test {

// Whether the object is in the selection. kInvalidArgument: no such selector.
Result<bool> selected(const nlohmann::json& object, const cluster::Kind& kind,
                      const cluster::ListOptions& options);

}  // namespace tranche::test
