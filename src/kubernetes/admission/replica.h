#pragma once
// A share by the old means, where nothing can be claimed in parts: one replica of a resource that
// device plugins advertise, of at least the part that is asked. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "admission/fleet.h"
#include "admission/share.h"
#include "base/result.h"

namespace tranche::admission {

struct ReplicaChoice {
  std::string resource;
  // That the container gets more than it asked for; that nothing holds it to its part.
  std::vector<std::string> warnings;
};

// Why nothing can be claimed in parts, and what would change it. For a fleet without models.
std::string why_no_shares(const Fleet& fleet);
std::string into_shares(const Fleet& fleet);

// The smallest replica that is large enough; of several, one whose part is enforced.
// kFailedPrecondition: there is none, with the reason and what would change it. A share in bytes
// has none ever: replicas are parts of whatever model they lie on.
Result<ReplicaChoice> choose_replica(std::string_view container, const Share& share,
                                     const Fleet& fleet);

}  // namespace tranche::admission
