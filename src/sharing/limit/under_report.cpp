#include "limit/under_report.h"

#include <algorithm>
#include <utility>

namespace tranche::limit {

// A tenant that was found gets no credit for idle time, and none at all if it reports less than
// half.
Ns UnderReport::slack(Ns elapsed, Ns sampled, Ns charged) const {
  const Ns usual = elapsed / kSlackOfTime + sampled / kSlackOfUse;
  if (!is_found()) return usual;
  const bool is_blatant = sampled > elapsed / kSlackOfTime && charged < sampled / 2;
  return is_blatant ? Ns{0} : std::min(usual, std::max(sampled - charged, Ns{0}));
}

Ns UnderReport::take(Ns elapsed, Ns sampled, Ns charged) {
  excess_ = std::max(excess_ + sampled - charged - slack(elapsed, sampled, charged), -kAhead);
  left_ = std::max(left_ - elapsed, Ns{0});
  if (excess_ < (is_found() ? kFoundTolerance : kTolerance)) return Ns{0};
  left_ = kStays;
  return std::exchange(excess_, Ns{0});
}

}  // namespace tranche::limit
