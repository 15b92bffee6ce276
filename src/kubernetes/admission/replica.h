#pragma once
// A share where nothing can be claimed in parts: one replica of a resource that device plugins
// advertise, of at least the requested part. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "admission/fleet.h"
#include "admission/share.h"
#include "base/result.h"

namespace tranche::admission {

struct ReplicaChoice {
  std::string resource;
  // For example: the container gets more than it requested, or its part is not enforced.
  std::vector<std::string> warnings;
};

// Why nothing can be claimed in parts, and what would change that. For a fleet without models.
std::string why_no_shares(const Fleet& fleet);
std::string into_shares(const Fleet& fleet);

// The smallest replica that is large enough; of equal ones, one whose part is enforced.
// kFailedPrecondition: there is none, with the reason and what would change it. There is never one
// for a share in bytes: replicas are parts of any model.
Result<ReplicaChoice> choose_replica(std::string_view container, const Share& share,
                                     const Fleet& fleet);

}  // namespace tranche::admission
