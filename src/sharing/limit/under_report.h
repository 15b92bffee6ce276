#pragma once
// Detects a tenant that uses more GPU time than its processes report. It compares the tenant's
// charges with NVML's samples of its processes' utilisation.
//
// Samples are coarse: percentages over 1/6 to 1 s that arrive up to a second late. Charges are
// apportioned, so they are not exact either. The class therefore sums up the sampled time beyond
// the charges, less kSlackOfTime and kSlackOfUse. Once the sum exceeds kTolerance it is believed,
// and all of it is charged. A tenant that under-reports gains at most 5 % of the device, a tenth of
// its use, and 1.5 s once. A tenant that was found and reports less than half of what it uses gains
// nothing: rounding cannot explain that.
//
// Pure, not thread-safe.

#include "limit/time.h"

namespace tranche::limit {

class UnderReport {
 public:
  static constexpr Ns kTolerance = std::chrono::milliseconds(1500);
  // The tolerance for a tenant that was found: it is charged again sooner.
  static constexpr Ns kFoundTolerance = std::chrono::milliseconds(300);
  // Charges precede samples. At most this much charged but not yet sampled time is
  // remembered.
  static constexpr Ns kAhead = std::chrono::seconds(1);
  static constexpr int kSlackOfTime = 20;  // 1/20 of the elapsed time
  static constexpr int kSlackOfUse = 10;
  // A tenant counts as found for this long after the last time.
  static constexpr Ns kStays = std::chrono::seconds(30);

  // In the last `elapsed`, NVML sampled `sampled` of GPU time for the tenant's processes, and the
  // tenant was charged `charged`. Returns the additional time to charge.
  Ns take(Ns elapsed, Ns sampled, Ns charged);
  // Resets the sum: no comparison is possible now.
  void pause() { excess_ = Ns{0}; }
  // The tenant was found by other means: its reports contradict each other.
  void accuse() { left_ = kStays; }
  bool is_found() const { return left_ > Ns{0}; }

 private:
  Ns slack(Ns elapsed, Ns sampled, Ns charged) const;

  Ns excess_{0};  // sampled but not charged; below 0: charged but not sampled
  Ns left_{0};    // time for which it still counts as found
};

}  // namespace tranche::limit
