#pragma once
// One device and the tenants on it: what they asked for and what they used goes in, what each may
// ask for comes out. Puts the two halves together: whose the GPU was (limit/apportion.h) and who is
// next (limit/shares.h).
//
// A tenant's account is the sum of the GPU time that it ever asked for, by its own estimate of each
// launch. Work that has ended is replaced there by what it is charged, but only when its time is
// closed, kLag after it passed: by then what was short has ended and been told. So an estimate that
// is wrong is corrected within milliseconds and never counted twice. Where estimates were too high
// all the time (a pair spans what others had of the device), what has not ended counts as much less
// as what ended was charged less: otherwise it would hold up a device that runs dry.
//
// Not thread-safe; pure.

#include <optional>
#include <vector>

#include "limit/apportion.h"
#include "limit/by_tenant.h"
#include "limit/shares.h"

namespace tranche::limit {

// A batch of launches that has ended.
struct Batch {
  Stretch stretch;  // device clock
  Ns asked{0};      // what it was taken for
};

// A tenant as it stands.
struct Standing {
  Ns asked{0};                     // sum of what it ever asked for; grows
  Ns outstanding{0};               // of that, by processes that live: not told to have ended
  bool waiting = false;            // a thread stands at the gate
  std::optional<Ns> busy_since{};  // the oldest batch that runs and has not ended began then
};

// What a tenant may do until it hears anew.
struct Permit {
  bool closed = false;          // launches wait
  std::optional<Ns> allowed{};  // the sum it may ask for; never less than before. nullopt: no bound
  std::optional<Ns> in_flight{};  // launched and unfinished at most, or one launch

  bool operator==(const Permit&) const = default;
};

class Device {
 public:
  static constexpr Ns kLag = Apportioner::kSlice + std::chrono::milliseconds(1);

  explicit Device(Ns start) : whose_(start), shares_(start) {}

  void put(TenantId tenant, const Share& share);
  // A tenant whose time is accounted and that nothing holds.
  void account(TenantId tenant);
  void remove(TenantId tenant);

  // Of a tenant that is not there (any more) its time is taken from the others', nothing else.
  void finished(TenantId tenant, const Batch& batch);
  // One step of the policy; good until the next one. Tenants without a standing are idle.
  const ByTenant<Permit>& step(Ns now, const ByTenant<Standing>& standings);

  // It used so much more than was told.
  void correct(TenantId tenant, Ns time);

  // How soon the next step should come while somebody works.
  Ns pace() const { return shares_.pace(); }

  // GPU time charged to it since it was put; 0 for one that is not there.
  Ns charged(TenantId tenant) const;

 private:
  struct Ended {
    Ns end;
    Ns asked;
  };
  struct Account {
    std::vector<Ended> ended{};  // and not closed
    Ns allowed{0};
    Ns charged{0};
    // Of about the last kRecent of what it asked for.
    Ns recently_asked{0};
    Ns recently_charged{0};
    // Since when it waits with leave that it does not use: who was stopped at the gate does. It is
    // not waited for then, and its leave is not counted.
    std::optional<Ns> unused_since{};
    Ns asked_before{0};

    // `could`: nothing but itself kept it from going on.
    bool is_stuck(Ns now, const Standing& standing, bool could);
    Ns expected(Ns asked) const;
  };
  static constexpr Ns kRecent = std::chrono::milliseconds(20);
  // Waiting threads look by themselves each tenth of a second.
  static constexpr Ns kStuck = std::chrono::milliseconds(250);

  void settle();
  static Demand demand_of(const Account& account, const Standing& standing);

  Apportioner whose_;
  Shares shares_;
  ByTenant<Account> accounts_;
  ByTenant<Demand> demands_;
  ByTenant<Permit> permits_;
};

}  // namespace tranche::limit
