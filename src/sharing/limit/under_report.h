#pragma once
// Finds a tenant that uses more GPU time than its processes report. It compares the tenant's
// charges with NVML's samples of its processes' utilisation.
//
// Samples are coarse: percentages over 1/6 to 1 s that arrive up to a second late. Charges are
// apportioned, so they are not exact either. The class therefore adds up the sampled time beyond
// the charges, less kSlackOfTime and kSlackOfUse. It believes the sum when the sum exceeds
// kTolerance, and then all of the sum is charged. A tenant that reports too little gains no more
// than 5 % of the device, a tenth of its use, and 1.5 s once. One that was found and reports less
// than half of what it uses gains nothing: no rounding explains that.
//
// Pure, not thread-safe.

#include "limit/time.h"

namespace tranche::limit {

class UnderReport {
 public:
  static constexpr Ns kTolerance = std::chrono::milliseconds(1500);
  // The tolerance for a tenant that was found: its next charges come sooner.
  static constexpr Ns kFoundTolerance = std::chrono::milliseconds(300);
  // Charges come before samples. At most this much of charged and not yet sampled time is
  // remembered.
  static constexpr Ns kAhead = std::chrono::seconds(1);
  static constexpr int kSlackOfTime = 20;  // 1/20 of the elapsed time
  static constexpr int kSlackOfUse = 10;
  // A tenant counts as found for this long after the last time.
  static constexpr Ns kStays = std::chrono::seconds(30);

  // In the last `elapsed`, NVML sampled `sampled` of GPU time of the tenant's processes, and the
  // tenant was charged `charged`. Returns the time to charge beyond that.
  Ns take(Ns elapsed, Ns sampled, Ns charged);
  // Forgets the sum: nothing can be compared now.
  void pause() { excess_ = Ns{0}; }
  // The tenant was found by other means: its reports contradict each other.
  void accuse() { left_ = kStays; }
  bool is_found() const { return left_ > Ns{0}; }

 private:
  Ns slack(Ns elapsed, Ns sampled, Ns charged) const;

  Ns excess_{0};  // sampled and not charged; below 0: charged and not sampled
  Ns left_{0};    // time for which it still counts as found
};

}  // namespace tranche::limit
