#pragma once
// What a tenant's processes hold of each device, counted race-free without a lock that a killed
// owner could keep: see docs/decisions/0010-limits.md, "A charge is one word".
//
// A process looks at the sum of all first: what does not fit is not even added, so who asks for too
// much takes nothing from its siblings. Then it adds to its own slot, says there that this is
// undecided, and looks again. Of two that race for the last bytes the later one sees both, so what
// was granted never exceeds the limit; it takes its part back and tries again. It is refused only
// when two looks in a row found the same, no room, and nothing undecided.
//
// Sums stay at the maximum where they would overflow: a tenant may write any word into its slots,
// and then gets nothing more itself.
//
// Any number of threads and processes; never blocks longer than some 100 ms, and that only while a
// sibling stands in the middle of a charge; no allocation. It borrows the page, the file and
// the slot, all mapped for as long as the process lives.

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
  // The same without waiting, for where a lock is held: false also while a sibling stands in the
  // middle of a charge. Not counted.
  bool try_charge(unsigned device, std::uint64_t bytes) {
    return attempt(device, bytes) == Attempt::kGranted;
  }
  // Whether it would fit now; another process may be faster.
  bool has_room(unsigned device, std::uint64_t bytes) const;
  // Counts what is held already, whether there is room or not.
  void charge_anyway(unsigned device, std::uint64_t bytes);
  // Gives back what was charged.
  void release(unsigned device, std::uint64_t bytes) {
    own_.charged[device].fetch_sub(bytes, std::memory_order_seq_cst);
  }

  // What all the tenant's processes hold, with what NVML sees beyond.
  std::uint64_t held(unsigned device) const;

 private:
  enum class Attempt { kGranted, kNoRoom, kConflict };
  // All slots, one after the other.
  struct Look {
    std::uint64_t bytes;
    std::uint64_t print;  // of each slot's bytes and of what its threads say of them, in order
    bool is_undecided;    // a charge in it may be withdrawn
  };
  // What `held` says, but for what is in the own slot.
  std::uint64_t held_by_others(unsigned device) const;
  Look look(unsigned device) const;
  Attempt attempt(unsigned device, std::uint64_t bytes);
  [[gnu::noinline, gnu::cold]] bool go_on(unsigned device, std::uint64_t bytes, Attempt result);
  bool is_full(unsigned device, std::uint64_t bytes, std::uint64_t limit) const;

  const limit::wire::PolicyPage& policy_;
  limit::wire::UsageFile& usage_;
  limit::wire::Slot& own_;
};

}  // namespace tranche::interpose
