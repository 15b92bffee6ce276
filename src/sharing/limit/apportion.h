#pragma once
// Divides a GPU's time among its tenants. Each tenant reports when its work was on the device: the
// begin and end of each batch by the device's clock, and its estimate of the batch's GPU time. Such
// a pair of events also spans other tenants' time slices. Those slices may lie within the work.
// They may also lie before it, because the driver records a begin at once when nothing is queued,
// whichever tenant has the device. So the pairs of several tenants overlap, and together they are
// longer than the elapsed time. This class assigns or divides every instant exactly once:
//
// 1. A tenant had the device just before its pair ended. Each pair receives the latest free time of
//    its stretch, as much as the tenant estimated. Pairs that end first choose first. A pair was
//    not interrupted if it is shorter than a slice, follows another pair of its tenant, and no
//    other tenant's pair ended within it. Such a pair receives all of its stretch. Its length also
//    shows how wrong the tenant's estimates are, and the tenant's other estimates are corrected
//    accordingly.
// 2. Time left after the end of a pair goes to the same tenant if that tenant continued at once. It
//    has this time until its slice is over or another tenant's pair ends.
// 3. Other remaining time goes to work that has not ended, in equal parts, as time slices are.
//    The length of that work is not known yet.
// 4. If there is no such work, the estimates were too low. The time goes to the shortest pair that
//    covers it. Pairs longer than a slice count as equally long and share in equal parts.
//
// Time is closed from left to right. A stretch that is reported after its time was closed receives
// the unassigned time there (the last kMemory of it). It receives nothing that other tenants were
// charged for, so the sum of all charges never exceeds the closed time. For that reason `busy`
// announces ongoing work: a kernel that takes half a second shows its length only when it ends.
// Without the announcement its neighbours would have paid for it. When such work ends, what it was
// charged meanwhile is subtracted from its need. If that was more than a slice, it needs at most a
// slice of the rest: it took turns with the others, and its estimate spans their slices too.
//
// Rejected: rules 3 and 4 alone, without estimates. A tenant that runs one launch of 1 ms at a
// time waits for its turn within each pair, and it shared that time with all other waiting tenants.
// Tenants of weights 1, 2 and 4 with launches of 1, 0.2 and 0.5 ms then had 26, 22 and 52 % of the
// device, although each was charged what its weight gives it.
//
// Tenants may report anything, so the work of a close() is bounded. If a tenant has more than
// kMostClaims stretches open, neighbouring ones are joined: its charges become less exact, and no
// other tenant is affected. The stretches of all tenants are sorted once and then walked a fixed
// number of times.
//
// Not thread-safe. Pure: it reads no clock and no state but its own.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "limit/by_tenant.h"
#include "limit/time.h"

namespace tranche::limit {

class Apportioner {
 public:
  // The length of the GPU's time slices.
  static constexpr Ns kSlice = std::chrono::milliseconds(2);
  // A begin at most this far after an end continues that work.
  static constexpr Ns kNear = std::chrono::microseconds(20);
  // How long unassigned time is remembered for stretches reported late.
  static constexpr Ns kMemory = std::chrono::seconds(2);
  // The most stretches of a tenant that are kept apart. An honest tenant reports a few dozen in the
  // time that is not closed.
  static constexpr std::size_t kMostClaims = 256;

  explicit Apportioner(Ns start) : closed_(start) {}

  // `tenant` had work in progress during all of `stretch`, and estimated `asked` of GPU time for
  // it; 0: unknown. Empty and reversed stretches are ignored.
  void finished(TenantId tenant, Stretch stretch, Ns asked = Ns{0});
  // `tenant` has had unfinished work since then; nullopt: it has none any more.
  void busy(TenantId tenant, std::optional<Ns> since);
  // The tenant is gone. Stretches that it reported and that are not closed yet are still charged.
  void forget(TenantId tenant);

  // Closes the time up to `until` and returns the time charged to each tenant. A tenant that is
  // charged nothing may be absent. Does nothing if `until` is before the closed time. The result is
  // valid until the next close().
  const ByTenant<Ns>& close(Ns until);

  // The tenant's charges so far for work that has not ended: time up to closed().
  Ns paid(TenantId tenant) const;

  Ns closed() const { return closed_; }
  // How many stretches and pieces of time were examined so far: a measure of work, for tests.
  std::uint64_t work() const { return work_; }

 private:
  static constexpr Ns kLong = kSlice + Ns{1};
  // Ranks before every length: the tenant continues after its own end (rule 2).
  static constexpr Ns kGoesOn{-1};
  static constexpr Ns kUnended{0};

  struct Claim {
    TenantId tenant;
    Stretch stretch;  // the part that is not closed yet
    Ns rank;          // the lowest rank gets time that nothing needs: kUnended or a length
    Ns need;          // GPU time of the stretch that belongs to it before that
    Ns asked;
    bool is_whole;   // not interrupted, as far as known
    Ns slice{0};     // begin of the tenant's turn in which it ended
    Stretch turn{};  // where it continued after a pair of the same tenant
  };
  // Sums over a tenant's uninterrupted pairs, about the last kMeasured of them.
  struct Measured {
    Ns asked{0};
    Ns length{0};
  };
  static constexpr Ns kMeasured = std::chrono::milliseconds(10);

  // Sorted stretches that do not touch.
  using Free = std::vector<Stretch>;

  static bool is_near(Ns a, Ns b) { return a <= b + kNear && b <= a + kNear; }
  bool follows_own(TenantId tenant, Ns begin) const;
  Ns corrected(TenantId tenant, Ns asked) const;
  void measure(const Claim& claim);
  Ns take_unclaimed(TenantId tenant, Stretch stretch);
  void join_claims();
  void put_in_order();
  void find_interrupted();
  void find_slices();
  Stretch after_own(TenantId tenant, const Stretch& work) const;
  Free give_needs(Ns until);
  void take_latest(const Stretch& window, Ns& left, Free& free, auto&& then);
  void share(const Free& free, Ns until);

  Ns closed_;
  std::vector<Claim> told_;  // stretches that end after `closed_`
  // Ends of the tenant's stretches in `told_`, unsorted.
  ByTenant<std::vector<Ns>> ends_;
  // The order of `told_`, valid within close(): for each tenant the indices of its stretches, and
  // for each index the end of the next stretch of another tenant.
  ByTenant<std::vector<std::size_t>> places_;
  std::vector<std::optional<Ns>> next_other_;
  ByTenant<Ns> busy_;
  ByTenant<Ns> paid_;      // charges for work that has not ended
  ByTenant<Ns> last_end_;  // end of the last pair reported
  ByTenant<Measured> measured_;
  std::optional<Claim> last_;   // the last stretch that ended before `closed_`
  std::map<Ns, Ns> unclaimed_;  // stretches that do not touch, end by begin
  ByTenant<Ns> charges_;        // since the last close
  ByTenant<Ns> told_charges_;   // charges before those
  mutable std::uint64_t work_ = 0;
};

}  // namespace tranche::limit
