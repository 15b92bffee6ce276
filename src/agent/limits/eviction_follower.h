#pragma once
// Who is to be evicted, as a follower. The controller evicts, and only where there is one that
// does.

#include <functional>

#include "agent/limits/finding_notices.h"
#include "agent/loop/follower.h"
#include "base/log.h"

namespace tranche::agent {

class EvictionFollower final : public Follower {
 public:
  // `evict`: tells whoever asks the controller; empty: nobody does. `somebody_evicts`: there is a
  // controller that is asked. `log` outlives it.
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
