#pragma once
// Finds a tenant that uses more GPU time than its processes tell: what it was charged beside what
// the driver sampled of its processes (NVML's utilisation of each).
//
// Samples are coarse: percents of 1/6 to 1 s that come up to a second late, and charges are
// apportioned. So what is sampled beyond the charges is added up, less kSlackOfTime and
// kSlackOfUse, and believed when it is more than kTolerance. Then all of it is charged. Who tells
// less than it uses gains no more than that: 5 % of the device, a tenth of what it uses, and 1.5 s
// once.
//
// Pure, not thread-safe.

#include "limit/time.h"

namespace tranche::limit {

class UnderReport {
 public:
  static constexpr Ns kTolerance = std::chrono::milliseconds(1500);
  // Of one that was found: its next charges come sooner.
  static constexpr Ns kFoundTolerance = std::chrono::milliseconds(300);
  // Charges come before samples: so much is remembered of what was charged and not sampled yet.
  static constexpr Ns kAhead = std::chrono::seconds(1);
  static constexpr int kSlackOfTime = 20;  // one part of so many
  static constexpr int kSlackOfUse = 10;
  // A tenant stays found so long after the last time.
  static constexpr Ns kStays = std::chrono::seconds(30);

  // In the last `elapsed` so much was sampled of the tenant's processes, and it was charged so
  // much. What is to be charged beyond that.
  Ns take(Ns elapsed, Ns sampled, Ns charged);
  // Nothing can be compared now.
  void pause() { excess_ = Ns{0}; }
  bool is_found() const { return left_ > Ns{0}; }

 private:
  Ns excess_{0};  // sampled and not charged
  Ns left_{0};    // until it is not found any more
};

}  // namespace tranche::limit
