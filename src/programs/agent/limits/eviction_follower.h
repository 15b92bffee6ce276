#pragma once
// Derives from each offer which Pods are to be evicted. The controller evicts them, where it is
// installed to.

#include <functional>

#include "agent/limits/finding_notices.h"
#include "agent/loop/follower.h"
#include "base/log.h"

namespace tranche::agent {

class EvictionFollower final : public Follower {
 public:
  // `evict`: passes the policy on to the part that asks the controller; empty: none.
  // `somebody_evicts`: there is a controller. `log` outlives it.
  EvictionFollower(std::function<void(EvictPolicy)> evict, bool somebody_evicts, const Log& log)
      : evict_(std::move(evict)), somebody_evicts_(somebody_evicts), log_(log) {}

  Result<void> follow(const Round& round) override;

 private:
  std::function<void(EvictPolicy)> evict_;
  bool somebody_evicts_;
  const Log& log_;
  bool said_ = false;
};

}  // namespace tranche::agent
