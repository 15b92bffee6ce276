#include "agent/limits/eviction_follower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace tranche::agent {

Result<void> EvictionFollower::follow(const Round& round) {
  auto policy = evict_policy(*round.offer);
  const bool nobody = !policy.empty() && !(evict_ && somebody_evicts_);
  if (nobody && !said_) {
    log_.warn(
        fmt::format("{}: the configuration says unregistered: evict, and no controller that evicts "
                    "is known here, so such containers are reported and not evicted; set "
                    "limits.evict=true in the chart's values, or write unregistered: event",
                    fmt::join(policy.resources, ", ")));
  }
  said_ = nobody;
  if (evict_) evict_(std::move(policy));
  return {};
}

}  // namespace tranche::agent
