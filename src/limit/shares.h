#pragma once
// How much GPU time each tenant of one device may ask for next: weighted fair queueing with caps
// and priorities, as a function of time and of what the tenants did.
//
// - Weight: tenants that want more than there is get time in proportion (by virtual time: who has
//   had least for its weight is next). What one leaves idle the others have; it has it back within
//   a step and the horizon below, for nobody may have more than that in flight.
// - Cap: at most this part of the device's time, a bucket of kBurst deep: idle time is not saved
//   up.
// - Priority: a latency-critical tenant goes at once. From when it has work until kHold after its
//   last, best-effort tenants are closed and normal ones have at most kInFlight in flight. While
//   there is one on the device at all, best-effort tenants take turns, and who has the turn has at
//   most kInFlight (or one launch) in flight: what the latency-critical tenant waits for is one
//   short launch.
//
// "In flight" is what was asked for and has not ended, plus what may still be asked for. Nothing is
// preempted: a launch longer than its room is let go, and its tenant comes later in the queue (and,
// with a cap, waits until the bucket holds again what it took).
//
// Not thread-safe; pure.

#include <cstdint>
#include <optional>

#include "limit/by_tenant.h"
#include "limit/time.h"
#include "values/enforcement.h"

namespace tranche::limit {

struct Share {
  std::uint32_t weight = 1;                 // > 0
  std::optional<std::uint32_t> permille{};  // cap; nullopt: none
  Priority priority = Priority::kNormal;

  bool operator==(const Share&) const = default;
};

// What a tenant has going on at the time of a step.
struct Demand {
  Ns ended{0};           // asked for and ended, not charged yet
  Ns outstanding{0};     // asked for and not ended
  Ns room{0};            // granted and not asked for
  bool waiting = false;  // a thread of it stands at the gate
};

// What a tenant may do until the next step.
struct Room {
  bool closed = false;            // launches wait, whatever was granted before
  std::optional<Ns> room{};       // above 0 it may launch, at 0 it waits; nullopt: no bound
  std::optional<Ns> in_flight{};  // launched and unfinished at most, or one launch

  bool operator==(const Room&) const = default;
};

class Shares {
 public:
  // All tenants together. Long enough that the device does not run dry between two steps, short
  // enough to give a share back soon.
  static constexpr Ns kHorizon = std::chrono::milliseconds(4);
  static constexpr Ns kInFlight = std::chrono::microseconds(200);
  static constexpr Ns kHold = std::chrono::milliseconds(1);
  static constexpr Ns kBurst = std::chrono::milliseconds(4);
  static constexpr Ns kTurn = std::chrono::milliseconds(2);
  // Handed out at once: the grain of fairness.
  static constexpr Ns kQuantum = std::chrono::microseconds(1000);
  static constexpr Ns kPace = std::chrono::milliseconds(1);
  // So long a tenant waits for others' work before it has a quantum at a time beside them.
  static constexpr Ns kStarved = std::chrono::milliseconds(50);
  // A longer pause between two steps counts as this much: the arbiter was away, nobody saves up.
  static constexpr Ns kLongestStep = std::chrono::milliseconds(50);

  explicit Shares(Ns start) : now_(start) {}

  // A new tenant, or another share for one there is: live, what it had stays.
  void put(TenantId tenant, const Share& share);
  void remove(TenantId tenant) { tenants_.erase(tenant); }

  // Of the device's time, so much was `tenant`'s (limit/apportion.h).
  void charge(TenantId tenant, Ns time);

  // How soon the next step should come while somebody works: what waits for a latency-critical
  // tenant's end is to know it soon, else half of the horizon does.
  Ns pace() const { return latency_critical_here_ ? kPace : 2 * kPace; }

  // What every tenant may do; good until the next step. `demands` of tenants that are not there are
  // ignored; those without one are idle.
  const ByTenant<Room>& step(Ns now, const ByTenant<Demand>& demands);

 private:
  struct Tenant {
    Share share;
    Ns charged{0};
    Ns budget{0};             // of the cap, compared with `charged` and what is in flight
    Ns counted{0};            // used() that virtual_time knows of
    double virtual_time = 0;  // used() by weight, in ns
    Ns fed{0};                // when it last had its turn, or wanted none
    Demand demand;
    bool closed = false;

    Ns used() const { return charged + demand.ended + demand.outstanding; }
    bool active() const { return demand.waiting || demand.outstanding > Ns{0}; }
    Ns in_flight() const {
      return closed || !active() ? demand.outstanding : demand.outstanding + demand.room;
    }
    double place() const {
      return virtual_time + static_cast<double>(demand.room.count()) / share.weight;
    }
  };

  void count(Tenant& tenant, const Demand& demand);
  void join_the_queue(Tenant& tenant) const;
  void feed_the_idle();
  void fill_budgets(Ns elapsed);
  void give_turns();
  bool pressing() const { return now_ < latency_critical_until_; }
  bool is_open(const Tenant& tenant) const;
  Tenant* next();
  Tenant* starving();
  Room room_of(const Tenant& tenant) const;

  Ns now_;
  ByTenant<Tenant> tenants_;
  ByTenant<Room> rooms_;
  bool latency_critical_here_ = false;
  Ns latency_critical_until_{-1};  // work seen last, and kHold
  TenantId turn_{};                // of the best-effort tenants, until turn_ends_
  Ns turn_ends_{0};
};

}  // namespace tranche::limit
