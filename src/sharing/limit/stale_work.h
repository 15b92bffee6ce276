#pragma once
// Decides how long the reports of a process count after the process falls silent.
//
// Work that a process asked for and has not reported as ended is assumed to be on the device, and
// other tenants wait for it. A stopped process (SIGSTOP, a frozen container, a debugger) reports
// nothing, although its work ended long ago. So its last report counts for as long as that work may
// take, and then no longer until the process reports again. A launch that takes longer does no
// harm: the others share the device with it, as they would without the limiter.
//
// Pure, not thread-safe. There is one object per process and device.

#include <optional>

#include "limit/time.h"

namespace tranche::limit {

class StaleWork {
 public:
  // The longest time between two reports of a working process, on a busy machine.
  static constexpr Ns kPatience = std::chrono::milliseconds(100);
  // Work that is expected to take longer counts as this long. Others wait twice the expected time,
  // after kPatience.
  static constexpr Ns kLongest = std::chrono::seconds(1);
  // The unfinished work of a silent process is charged to it for this long.
  static constexpr Ns kCharged = std::chrono::seconds(3);

  // At `now` the process has `unfinished` work. `spoke`: it reported finished work since the last
  // call.
  void observe(Ns now, Ns unfinished, bool spoke);
  // Whether the unfinished work holds other tenants back.
  bool is_believed() const { return is_believed_; }
  // Whether GPU time is charged for the unfinished work.
  bool is_charged() const { return is_charged_; }

 private:
  std::optional<Ns> since_;  // its last report, or the begin of its work
  bool is_believed_ = true;
  bool is_charged_ = true;
};

}  // namespace tranche::limit
