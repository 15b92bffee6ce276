#pragma once
// Whose was the GPU? Each tenant tells when its work was on the device, begin and end of batches by
// the device's clock. Such a pair of events spans the time slices of others too, so pairs of
// several tenants overlap and add up to more than there was. Here every instant is given out once.
//
// The begin is recorded when the pair's context has the GPU, so a pair shorter than a time slice
// was most likely not interrupted, or not for long. An instant goes to the shortest pair that
// covers it; those longer than a slice count as equally long and share in equal parts, as time
// slices are.
//
// Time is closed from left to right. A stretch that is told late, after its time was closed, gets
// what lay unclaimed there (the last kMemory of it) and nothing that others were charged: the sum
// of all charges never exceeds the time closed. For that reason work that goes on is announced by
// `busy`: a kernel of half a second is not known to be one until it ends, and without the
// announcement its neighbours would have paid for it.
//
// Not thread-safe; pure: no clock, no memory but its own.

#include <optional>
#include <vector>

#include "limit/by_tenant.h"
#include "limit/time.h"

namespace tranche::limit {

class Apportioner {
 public:
  // Of the GPU's time slices.
  static constexpr Ns kSlice = std::chrono::milliseconds(2);
  // How long unclaimed time is remembered for stretches that are told late.
  static constexpr Ns kMemory = std::chrono::seconds(2);

  explicit Apportioner(Ns start) : closed_(start) {}

  // `tenant` had work on the device all through `stretch`. Empty and reversed ones are ignored.
  void finished(TenantId tenant, Stretch stretch);
  // `tenant` has unfinished work since then; nullopt: no longer.
  void busy(TenantId tenant, std::optional<Ns> since);
  // The tenant is gone: what it told and is not closed yet stands.
  void forget(TenantId tenant) { busy(tenant, std::nullopt); }

  // Closes the time up to `until` and says who is charged how much for it; those with nothing are
  // not in it. Earlier than what is closed already: nothing happens.
  ByTenant<Ns> close(Ns until);

  Ns closed() const { return closed_; }

 private:
  struct Claim {
    TenantId tenant;
    Stretch stretch;  // what is not closed yet
    Ns length;        // of the whole pair, at most kLong
  };
  static constexpr Ns kLong = kSlice + Ns{1};

  void take_unclaimed(TenantId tenant, Stretch stretch);
  void share(const std::vector<Claim>& claims, Ns until);

  Ns closed_;
  std::vector<Claim> told_;  // what ends after `closed_`
  ByTenant<Ns> busy_;
  std::vector<Stretch> unclaimed_;  // sorted, apart
  ByTenant<Ns> charges_;            // since the last close
};

}  // namespace tranche::limit
