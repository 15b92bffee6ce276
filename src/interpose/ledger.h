#pragma once
// What a tenant's processes hold of each device, counted race-free without a lock that a killed
// owner could keep: see docs/decisions/0010-limits.md, "A charge is one word".
//
// A process adds to its own slot first, then looks at the sum of all. Of two that race for the last
// bytes the later one sees both, so what was granted never exceeds the limit; it takes its part
// back and tries again, and it is refused only when the others' sum, standing still, leaves no
// room.
//
// Any number of threads and processes; never blocks longer than some 20 ms; no allocation, no
// library. It borrows the page, the file and the slot, all mapped for as long as the process lives.

#include <cstdint>

#include "limit/wire.h"

namespace tranche::interpose {

class Ledger {
 public:
  Ledger(const limit::wire::PolicyPage& policy, limit::wire::UsageFile& usage, unsigned slot)
      : policy_(policy), usage_(usage), own_(usage.slot[slot]) {}

  // Takes `bytes` of `device` (index in the policy page). false: the limit does not allow it, and
  // nothing was taken; counted in the slot's `refused`.
  bool charge(unsigned device, std::uint64_t bytes);
  // Gives back what was charged.
  void release(unsigned device, std::uint64_t bytes);

  // What all the tenant's processes hold, with what NVML sees beyond.
  std::uint64_t held(unsigned device) const;

 private:
  enum class Attempt { kGranted, kNoRoom, kConflict };
  Attempt attempt(unsigned device, std::uint64_t bytes, std::uint64_t limit);

  const limit::wire::PolicyPage& policy_;
  limit::wire::UsageFile& usage_;
  limit::wire::Slot& own_;
};

}  // namespace tranche::interpose
