#include "limit/asked_time.h"

#include <algorithm>
#include <utility>

namespace tranche::limit {

Ns AskedTime::observe(Ns now, Ns told, Ns ended, Ns outstanding) {
  const Ns more = told - std::exchange(told_, told);
  const Ns reported = ended + outstanding - std::exchange(outstanding_, outstanding);
  if (!std::exchange(has_begun_, true)) return Ns{0};
  const Ns by_word = std::clamp(more, Ns{0}, kMost);
  // Work that goes with its process is asked for and never reported as ended.
  ahead_ = std::min(ahead_ + by_word - std::clamp(reported, -kMost, kMost), kMost);
  const Ns beyond = std::max(-ahead_, Ns{0});
  ahead_ += beyond;
  missing_ += beyond;
  if (more < Ns{0} || missing_ > kTolerance) {
    missing_ = Ns{0};
    false_until_ = now + kStays;
  }
  return by_word + beyond;
}

}  // namespace tranche::limit
