#pragma once
// Decides how long to believe that a tenant is about to continue.
//
// Others stay off the device for a tenant that waits there with permission to launch, and for a
// latency-critical tenant that has any work. Both are known only from the tenant's own word. So
// such a word draws on a credit. It costs as much as its duration; credit is earned by GPU time
// charged to the tenant, and slowly by time in which the tenant asserts nothing. A tenant without
// credit holds nobody off and loses nothing else: what it may ask for stays, and its work counts as
// soon as it is there.
//
// An honest program asserts for as long as its threads need to wake up, and then works. It always
// earns more than that: kEarned for each step in which the device worked for it, at least as long
// as its work stays there (FairQueue::kHold), and kEarnedByUse times what it used.
//
// Rejected: only a limit on each wait. A tenant that withdraws its word for a moment, or launches
// next to nothing now and then, would start afresh each time.
//
// Pure, not thread-safe. There is one object per tenant and device.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "limit/time.h"

namespace tranche::limit {

class Belief {
 public:
  // The maximum credit, with which every tenant starts: how long others wait for it
  // (FairQueue::kStarved).
  static constexpr Ns kMost = std::chrono::milliseconds(50);
  static constexpr Ns kEarned = std::chrono::milliseconds(2);
  static constexpr int kEarnedByUse = 5;
  // The arbiter looks more often while any tenant works. Unobserved time is not held against a
  // tenant.
  static constexpr Ns kLongestStep = std::chrono::milliseconds(4);
  // All tenants of a device together regain this fraction of the time as credit.
  static constexpr int kRecovers = 20;

  // At `now` the tenant asserts that it continues; since the last call it was charged `used`.
  // `tenants`: the number on the device, including this one.
  void observe(Ns now, bool claims, Ns used, std::size_t tenants) {
    const Ns elapsed = std::max(now - std::exchange(observed_, now).value_or(now), Ns{0});
    // A word withdrawn just before this call held others off as well.
    if (std::exchange(claimed_, claims) || claims) {
      credit_ -= std::min(elapsed, kLongestStep);
    } else {
      credit_ +=
          elapsed / kRecovers / std::max<std::int64_t>(static_cast<std::int64_t>(tenants), 1);
    }
    if (used > Ns{0}) credit_ += kEarned + kEarnedByUse * std::min(used, kMost);
    credit_ = std::clamp(credit_, -kEarned, kMost);
  }
  bool is_believed() const { return credit_ > Ns{0}; }

 private:
  std::optional<Ns> observed_{};
  Ns credit_ = kMost;
  bool claimed_ = false;
};

}  // namespace tranche::limit
