#pragma once
// Determines how much GPU time a tenant has asked for, from its own counter and from its reports.
//
// A tenant counts what it asks for in a counter that its processes write (wire.h, spent_ns), and
// its gate compares it with what the tenant may ask for. A counter that goes back, or stays below
// what the tenant reports as ended and in progress, is false: then the reports count, and what it
// may ask for is lowered by the difference.
//
// Pure, not thread-safe. There is one object per tenant and device.

#include <optional>

#include "limit/time.h"

namespace tranche::limit {

class AskedTime {
 public:
  // Reports read at a different moment than the counter may be this far ahead of it.
  static constexpr Ns kTolerance = std::chrono::milliseconds(500);
  // A tenant that was found counts as found for this long after the last time.
  static constexpr Ns kStays = std::chrono::seconds(30);

  // At `now` the tenant's counter is `told`. Since the last call, batches ended for which it had
  // asked `ended`; its living processes asked for `outstanding` and have not reported that as
  // ended. Returns what it asked for since the last call, never below 0. The first call starts at
  // 0.
  Ns observe(Ns now, Ns told, Ns ended, Ns outstanding);
  // Whether the counter is false. It is not trusted until kStays after the last time.
  bool is_false(Ns now) const { return false_until_ && now < *false_until_; }

 private:
  // One step counts as at most this much: a tenant may write any number.
  static constexpr Ns kMost = std::chrono::hours(1);

  bool has_begun_ = false;
  Ns told_{0};
  Ns outstanding_{0};
  Ns ahead_{0};    // how much more was counted than reported; at least 0
  Ns missing_{0};  // reported but not counted, since the counter was last found false
  std::optional<Ns> false_until_{};
};

}  // namespace tranche::limit
