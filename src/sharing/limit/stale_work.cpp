#include "limit/stale_work.h"

#include <algorithm>

namespace tranche::limit {

void StaleWork::observe(Ns now, Ns unfinished, bool spoke) {
  if (unfinished <= Ns{0}) {
    since_.reset();
  } else if (spoke || !since_) {
    since_ = now;
  }
  const Ns silent = since_ ? now - *since_ : Ns{0};
  is_believed_ = silent <= kPatience + 2 * std::min(unfinished, kLongest);
  is_charged_ = silent <= kCharged;
}

}  // namespace tranche::limit
