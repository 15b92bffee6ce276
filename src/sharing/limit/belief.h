#pragma once
// Decides how long a tenant is believed that it is about to go on.
//
// Others stay off the device for who waits there with leave to launch, and for a latency-critical
// tenant that has work at all. Both are the tenant's word. So such a word draws on a credit: it
// costs as much as it lasts, and comes back with the GPU time that is charged to the tenant, and
// slowly with time in which it claims nothing. Who has used up its credit holds nobody off, and
// loses nothing else: what it may ask for stays, and its work counts as soon as it is there.
//
// An honest program claims for as long as its threads need to wake up, and works then. What it
// earns by that is always more: kEarned for each step in which the device worked for it, as long
// as its work stands there at least (Shares::kHold), and kEarnedByUse times what it used.
//
// Rejected: a limit for each wait alone. Who takes its word back for a moment, or launches next to
// nothing now and then, would begin anew each time.
//
// Pure, not thread-safe. There is one object for each tenant and device.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "limit/time.h"

namespace tranche::limit {

class Belief {
 public:
  // The most credit, which every tenant begins with: how long others wait for it
  // (Shares::kStarved).
  static constexpr Ns kMost = std::chrono::milliseconds(50);
  static constexpr Ns kEarned = std::chrono::milliseconds(2);
  static constexpr int kEarnedByUse = 5;
  // The arbiter looks more often while anybody works. What passed unseen is not held against
  // anybody.
  static constexpr Ns kLongestStep = std::chrono::milliseconds(4);
  // All tenants of a device together get this part of the time back as credit.
  static constexpr int kRecovers = 20;

  // At `now` the tenant claims that it goes on; since the last call it was charged `used`.
  // `tenants`: of the device, this one included.
  void hear(Ns now, bool claims, Ns used, std::size_t tenants) {
    const Ns elapsed = std::max(now - std::exchange(heard_, now).value_or(now), Ns{0});
    // A word that was taken back just before somebody looked held others off as well.
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
  std::optional<Ns> heard_{};
  Ns credit_ = kMost;
  bool claimed_ = false;
};

}  // namespace tranche::limit
