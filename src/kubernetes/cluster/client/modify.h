#pragma once
// Read, change, write; starts over if someone else wrote in between.

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::cluster {

// Makes the new text from the object's current state; nullopt: it is already as it should be.
// Called once per attempt. The text must keep metadata.resourceVersion.
using Change = std::function<Result<std::optional<std::string>>(const Object& now)>;

// Returns the object's resulting state. Up to 5 attempts, all within call.deadline, waiting a
// little longer after each; then kFailedPrecondition.
Result<Object> modify(Objects& objects, const Kind& kind, const ObjectKey& key,
                      const Change& change, const Call& call = {},
                      const std::string& subresource = {});

}  // namespace tranche::cluster
