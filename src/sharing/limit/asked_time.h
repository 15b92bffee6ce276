#pragma once
// How much GPU time a tenant has asked for, by its own word and by what it reports.
//
// A tenant counts what it asks for in a word that its processes write (wire.h, spent_ns), and its
// gate compares that word with what it may ask for. A word that goes back, or stays behind what the
// tenant reports as ended and under way, is not true: then what it reports counts, and what it may
// ask for is lowered by the difference.
//
// Pure, not thread-safe. There is one object for each tenant and device.

#include <optional>

#include "limit/time.h"

namespace tranche::limit {

class AskedTime {
 public:
  // Reports that were read at another moment than the word may be so far ahead of it.
  static constexpr Ns kTolerance = std::chrono::milliseconds(500);
  // A tenant that was found counts as found for this long after the last time.
  static constexpr Ns kStays = std::chrono::seconds(30);

  // At `now` the tenant's word is `told`; since the last call batches ended for which it had asked
  // `ended`; what its living processes asked for and did not report as ended is `outstanding`.
  // Returns what it asked for since the last call, never below 0. The first call begins at 0.
  Ns hear(Ns now, Ns told, Ns ended, Ns outstanding);
  // The word is not true. It is not believed until kStays after the last time.
  bool is_false(Ns now) const { return false_until_ && now < *false_until_; }

 private:
  // One step counts as this much at most: a tenant may write any number.
  static constexpr Ns kMost = std::chrono::hours(1);

  bool has_begun_ = false;
  Ns told_{0};
  Ns outstanding_{0};
  Ns ahead_{0};    // by so much what was counted is more than what was reported; 0 at least
  Ns missing_{0};  // reported and not told, since the word was last found false
  std::optional<Ns> false_until_{};
};

}  // namespace tranche::limit
