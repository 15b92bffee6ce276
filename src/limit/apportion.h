#pragma once
// Whose was the GPU? Each tenant tells when its work was on the device, begin and end of batches by
// the device's clock, and what it took each batch for. Such a pair of events spans the time slices
// of others too, before its work began (a begin that is recorded where nothing is queued happens at
// once, whoever has the device) as well as within it. So pairs of several tenants overlap and add
// up to more than there was. Here every instant is given out once:
//
// 1. A pair's tenant had the device just before its end. Each pair has the latest time of its
//    stretch that is free, as much as it was taken for; those that end first choose first. A pair
//    shorter than a slice that follows another one of its tenant's, with no end of anybody else's
//    within, was not interrupted: it has all of its stretch. Such pairs also say by how much the
//    tenant's estimates are wrong, which is put right for the others.
// 2. What is left after an end goes to its tenant, if that one went on at once: until its slice is
//    over or somebody else ends something.
// 3. Else to work that has not ended, in equal parts, as time slices are: what that will be is not
//    known yet.
// 4. Where there is none, estimates were too low: to the shortest pair that covers it; those longer
//    than a slice count as equally long and share in equal parts.
//
// Time is closed from left to right. A stretch that is told late, after its time was closed, gets
// what lay unclaimed there (the last kMemory of it) and nothing that others were charged: the sum
// of all charges never exceeds the time closed. For that reason work that goes on is announced by
// `busy`: a kernel of half a second is not known to be one until it ends, and without the
// announcement its neighbours would have paid for it. What it was charged meanwhile counts when it
// ends.
//
// Rejected: no estimates, the last two rules alone. Whoever runs one launch of 1 ms at a time waits
// for its turn within each pair and shared it with all others that waited: weights of 1, 2 and 4
// with launches of 1, 0.2 and 0.5 ms had 26, 22 and 52 % of the device, each charged what it
// should.
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
  // A begin so near to an end follows it.
  static constexpr Ns kNear = std::chrono::microseconds(20);
  // How long unclaimed time is remembered for stretches that are told late.
  static constexpr Ns kMemory = std::chrono::seconds(2);

  explicit Apportioner(Ns start) : closed_(start) {}

  // `tenant` had work in progress all through `stretch`, which took about `asked` of it; 0: not
  // known. Empty and reversed stretches are ignored.
  void finished(TenantId tenant, Stretch stretch, Ns asked = Ns{0});
  // `tenant` has unfinished work since then; nullopt: no longer.
  void busy(TenantId tenant, std::optional<Ns> since);
  // The tenant is gone: what it told and is not closed yet stands.
  void forget(TenantId tenant);

  // Closes the time up to `until` and says who is charged how much for it; those with nothing are
  // not in it. Earlier than what is closed already: nothing happens.
  ByTenant<Ns> close(Ns until);

  Ns closed() const { return closed_; }

 private:
  static constexpr Ns kLong = kSlice + Ns{1};
  // Ranks before every length.
  static constexpr Ns kGoesOn{-1};
  static constexpr Ns kUnended{0};

  struct Claim {
    TenantId tenant;
    Stretch stretch;  // what is not closed yet
    Ns rank;          // of who share what nobody needs, the least goes first: kUnended or length
    Ns need;          // what of it is its own, before that
    Ns asked;
    bool is_whole;   // not interrupted, as far as is known
    Ns slice{0};     // when its tenant's turn on the device began, in which it ended
    Stretch turn{};  // in which it went on after another one of its tenant's
  };
  // A tenant's uninterrupted pairs, about the last kMeasured of them.
  struct Measured {
    Ns asked{0};
    Ns length{0};
  };
  static constexpr Ns kMeasured = std::chrono::milliseconds(10);

  // Sorted, apart.
  using Free = std::vector<Stretch>;

  static bool is_near(Ns a, Ns b) { return a <= b + kNear && b <= a + kNear; }
  bool follows_own(TenantId tenant, Ns begin) const;
  Ns corrected(TenantId tenant, Ns asked) const;
  void measure(const Claim& claim);
  Ns take_unclaimed(TenantId tenant, Stretch stretch);
  void find_interrupted();
  void find_slices();
  Stretch after_own(TenantId tenant, const Stretch& work) const;
  Free give_needs(Ns until);
  static Free take_latest(const Stretch& window, Ns& left, Free& free);
  void share(const Free& free, Ns until);

  Ns closed_;
  std::vector<Claim> told_;  // what ends after `closed_`
  ByTenant<Ns> busy_;
  ByTenant<Ns> paid_;      // charged for work that has not ended
  ByTenant<Ns> last_end_;  // told last
  ByTenant<Measured> measured_;
  std::optional<Claim> last_;  // that ended before `closed_`
  Free unclaimed_;
  ByTenant<Ns> charges_;  // since the last close
};

}  // namespace tranche::limit
