#pragma once
// Counts what a tenant's processes hold of each device, race-free and without a lock that a killed
// owner could keep: see docs/decisions/0010-limits.md, "A charge is one word".
//
// A process first checks the sum over all slots: what does not fit is not even added, so a request
// for too much takes nothing from its siblings. Then it adds to its own slot, marks this as
// undecided there, and checks again. Of two processes racing for the last bytes the later one sees
// both, so grants never exceed the limit; it withdraws its part and tries again. It is refused only
// if two consecutive checks found the same: no room, and nothing undecided.
//
// Sums saturate at the maximum: a tenant may write any word into its slots, but then only gets
// nothing more itself.
//
// Any number of threads and processes; blocks at most some 100 ms, and only while a sibling is in
// the middle of a charge; no allocation. It borrows the page, the file and the slot, all mapped for
// the lifetime of the process.

#include <cstdint>

#include "limit/wire.h"

namespace tranche::interpose {

class Ledger {
 public:
  Ledger(const limit::wire::PolicyPage& policy, limit::wire::UsageFile& usage, unsigned slot)
      : policy_(policy), usage_(usage), own_(usage.slot[slot]) {}

  // Charges `bytes` of `device` (index in the policy page). false: the limit does not allow it, and
  // nothing was charged; counted in the slot's `refused`.
  bool charge(unsigned device, std::uint64_t bytes);
  // The same without waiting, for callers that hold a lock: also false while a sibling is in the
  // middle of a charge. Not counted.
  bool try_charge(unsigned device, std::uint64_t bytes) {
    return attempt(device, bytes) == Attempt::kGranted;
  }
  // Whether it would fit now; another process may be faster.
  bool has_room(unsigned device, std::uint64_t bytes) const;
  // Charges what is already held, even if there is no room.
  void charge_anyway(unsigned device, std::uint64_t bytes);
  // Releases a charge.
  void release(unsigned device, std::uint64_t bytes) {
    own_.charged[device].fetch_sub(bytes, std::memory_order_seq_cst);
  }

  // What all of the tenant's processes hold, plus what only NVML sees.
  std::uint64_t held(unsigned device) const;

 private:
  enum class Attempt { kGranted, kNoRoom, kConflict };
  // One pass over all slots.
  struct Look {
    std::uint64_t bytes;
    std::uint64_t print;  // fingerprint of each slot's bytes and its threads' marks, in order
    bool is_undecided;    // a charge in it may be withdrawn
  };
  // Like `held`, without the process's own slot.
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
