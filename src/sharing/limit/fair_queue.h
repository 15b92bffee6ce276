#pragma once
// Decides how much GPU time each tenant of one device may ask for next: weighted fair queueing
// with caps and priorities, as a function of time and of the tenants' behaviour.
//
// - Weight: tenants that want more than the device has get time in proportion to their weights,
//   by virtual time: the tenant that had least for its weight is next. Time that one tenant
//   leaves idle goes to the others. That tenant has its time back within a step and kHorizon,
//   because all tenants together may have no more than kHorizon in flight.
// - Cap: the tenant has at most this part of the device's time. The cap is a bucket of kBurst,
//   so idle time is not saved up. Time in which the tenant waited while the work of others kept
//   it from the device is not idle: up to kStarved of it is saved, and used when the others
//   have ended. Without that a tenant next to launches longer than kBurst could never get its
//   part.
// - Priority: a latency-critical tenant goes at once. From the begin of its work until kHold
//   after the end, best-effort tenants are closed and normal tenants have at most kInFlight in
//   flight. This does not apply while its own cap keeps it from continuing. While a
//   latency-critical tenant is on the device at all, best-effort tenants take turns. The tenant
//   that has the turn has at most kInFlight (or one launch) in flight. So a latency-critical
//   tenant waits for one short launch.
// - All use is charged. A tenant that used more than its cap is closed until its bucket holds
//   that again, however late the charge came. A tenant without a cap moves back in the queue,
//   and loses what it was granted and has not asked for while a tenant before it waits in vain.
//   Time that it did not report at all (owe) closes it for as long as its weight takes to earn
//   that time.
//
// "In flight" is the time that was asked for and has not ended, less the time that the device
// has worked on it, plus the time that may still be asked for. So others may launch before a
// long launch has ended, and the device does not run dry after it. Nothing is preempted. A
// launch longer than its tenant's room may go; the tenant then moves back in the queue. A
// tenant with a cap also waits until its bucket has regained what the launch took.
//
// Not thread-safe; pure.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "limit/by_tenant.h"
#include "limit/time.h"
#include "values/enforcement.h"

namespace tranche::limit {

struct TimePolicy {
  std::uint32_t weight = 1;                 // > 0
  std::optional<std::uint32_t> permille{};  // cap; nullopt: none
  Priority priority = Priority::kNormal;

  bool operator==(const TimePolicy&) const = default;
};

// A tenant's work at the time of a step.
struct Demand {
  Ns ended{0};           // asked for and ended, not charged yet
  Ns outstanding{0};     // asked for and not ended
  Ns worked{0};          // already charged of what is outstanding
  Ns room{0};            // granted and not asked for
  bool waiting = false;  // one of its threads waits at the gate
  bool presses = true;   // its work is urgent, if the tenant is latency-critical
};

// What a tenant may do until the next step.
struct Room {
  bool closed = false;            // launches wait, regardless of earlier grants
  std::optional<Ns> room{};       // above 0 it may launch, at 0 it waits; nullopt: no bound
  std::optional<Ns> in_flight{};  // most GPU time launched and unfinished, or one launch

  bool operator==(const Room&) const = default;
};

class FairQueue {
 public:
  // The most that all tenants together have in flight. Long enough that the device does not run dry
  // between two steps, short enough to give a share back soon.
  static constexpr Ns kHorizon = std::chrono::milliseconds(4);
  static constexpr Ns kInFlight = std::chrono::microseconds(200);
  static constexpr Ns kHold = std::chrono::milliseconds(1);
  static constexpr Ns kBurst = std::chrono::milliseconds(4);
  static constexpr Ns kTurn = std::chrono::milliseconds(2);
  // The time granted at once: the granularity of fairness.
  static constexpr Ns kQuantum = std::chrono::microseconds(1000);
  static constexpr Ns kPace = std::chrono::milliseconds(1);
  // A tenant waits this long for the work of others that come after it in the queue. Then it runs
  // next to them: their work in flight does not count against it.
  static constexpr Ns kStarved = std::chrono::milliseconds(50);

  explicit FairQueue(Ns start) : now_(start) {}

  // Adds a tenant, or changes the policy of an existing one, which keeps its account.
  void put(TenantId tenant, const TimePolicy& policy);
  void remove(TenantId tenant) { tenants_.erase(tenant); }

  // `tenant` used `time` of the device (limit/apportion.h).
  void charge(TenantId tenant, Ns time);
  // `tenant` used `time` and did not report it: charged, and paid off before it may do anything
  // else.
  void owe(TenantId tenant, Ns time);

  // The time until the next step while a tenant works. With a latency-critical tenant it is short,
  // so that waiting tenants learn soon that its work has ended. Otherwise it is half of kHorizon.
  Ns pace() const { return latency_critical_here_ ? kPace : 2 * kPace; }

  // What every tenant may do; valid until the next step. `demands` of unknown tenants are ignored.
  // Tenants without a demand count as idle. `progress`: how long the device has worked on
  // outstanding work without a charge for it yet; at most kHorizon less a quantum of that counts.
  const ByTenant<Room>& step(Ns now, const ByTenant<Demand>& demands, Ns progress = Ns{0});

 private:
  struct Tenant {
    TimePolicy policy;
    Ns charged{0};
    Ns budget{0};             // of the cap; bounds used() and room
    Ns counted{0};            // used() that virtual_time includes
    double virtual_time = 0;  // used() divided by weight, in ns
    Ns fed{0};                // when it last received a quantum, or wanted none
    Ns debt{0};               // without a cap: used, not reported and not paid off
    Demand demand;
    bool closed = false;

    // What the device has not worked on yet, according to charges.
    Ns left() const { return std::max(demand.outstanding - demand.worked, Ns{0}); }
    Ns used() const { return charged + demand.ended + left(); }
    bool active() const { return demand.waiting || demand.outstanding > Ns{0}; }
    // Whether it holds off less urgent tenants.
    bool presses() const {
      const bool may_go = !is_spent() && debt == Ns{0};
      return policy.priority == Priority::kLatencyCritical && demand.presses &&
             (demand.outstanding > Ns{0} || (demand.waiting && may_go));
    }
    Ns in_flight() const { return closed || !active() ? left() : left() + demand.room; }
    double place() const {
      return virtual_time + static_cast<double>(demand.room.count()) / policy.weight;
    }
    // Whether a capped tenant has used what its cap allows by now.
    bool is_spent() const { return policy.permille && used() >= budget; }
    // Whether the work of others keeps it from the device, not its cap.
    bool is_held_back() const { return demand.waiting && demand.room == Ns{0} && !is_spent(); }
    Ns most_saved() const;
    // Whether it is so far over its allowance that others do not wait for its work in progress:
    // that would give it the device for even longer. Such work cannot be recalled. Launches queued
    // behind one that takes much longer than expected count in full here.
    bool is_overdrawn() const {
      const Ns in_all = charged + demand.ended + demand.outstanding;
      return debt > Ns{0} || (policy.permille && in_all - budget > kStarved);
    }
  };

  void count(Tenant& tenant, const Demand& demand);
  void join_the_queue(Tenant& tenant) const;
  void feed_the_idle();
  void fill_budgets(Ns elapsed);
  void pay_debts(Ns elapsed);
  void give_turns();
  void close_the_overdrawn();
  void take_back();
  bool pressing() const { return now_ < latency_critical_until_; }
  bool is_open(const Tenant& tenant) const;
  Tenant* next();
  Tenant* starving();
  Room room_of(const Tenant& tenant) const;

  Ns now_;
  ByTenant<Tenant> tenants_;
  ByTenant<Room> rooms_;
  bool latency_critical_here_ = false;
  Ns latency_critical_until_{-1};  // when its work was last seen, plus kHold
  Ns progress_{0};
  TenantId turn_{};  // the best-effort tenant with the turn, until turn_ends_
  Ns turn_ends_{0};
};

}  // namespace tranche::limit
