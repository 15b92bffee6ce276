#include "limit/under_report.h"

#include <algorithm>
#include <utility>

namespace tranche::limit {

Ns UnderReport::take(Ns elapsed, Ns sampled, Ns charged) {
  const Ns slack = elapsed / kSlackOfTime + sampled / kSlackOfUse;
  excess_ = std::max(excess_ + sampled - charged - slack, -kAhead);
  left_ = std::max(left_ - elapsed, Ns{0});
  if (excess_ < (is_found() ? kFoundTolerance : kTolerance)) return Ns{0};
  left_ = kStays;
  return std::exchange(excess_, Ns{0});
}

}  // namespace tranche::limit
