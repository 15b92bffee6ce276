#pragma once
// One device and its tenants. The input is the time that tenants asked for and used. The output is
// the time that each may ask for. The class combines two parts: which tenant used the GPU
// (limit/apportion.h), and which is next (limit/fair_queue.h).
//
// A tenant's account is the sum of the GPU time that it ever asked for, by its own estimate of each
// launch. When work has ended, its charge replaces its estimate. That happens only when its time is
// closed, kLag after it passed: by then short work has ended and was reported. So a wrong estimate
// is corrected within milliseconds and is never counted twice. Estimates may be persistently too
// high, because a pair of events also spans other tenants' use of the device. Then unfinished work
// counts less, in the ratio in which finished work was charged less. Otherwise that work would hold
// other tenants back while the device runs dry. For the same reason, what such work was already
// charged is subtracted from it.
//
// The tenant's own count of what it asked for is checked against its reports (limit/asked_time.h).
// A tenant found to under-report is closed whenever it has no room: its own count does not stop it.
// Its word that it is about to continue is believed for a while (limit/belief.h).
//
// Not thread-safe; pure.

#include <optional>
#include <vector>

#include "limit/apportion.h"
#include "limit/asked_time.h"
#include "limit/belief.h"
#include "limit/by_tenant.h"
#include "limit/fair_queue.h"

namespace tranche::limit {

// A finished batch of launches.
struct Batch {
  Stretch stretch;  // device clock
  Ns asked{0};      // estimated GPU time
};

// Joins neighbouring batches of one tenant until at most `most` are left: a tenant may report any
// number.
void join(std::vector<Batch>& batches, std::size_t most);

// A tenant's present state.
struct Standing {
  Ns asked{0};                     // sum of all that it ever asked for; only grows
  Ns outstanding{0};               // the part that living processes have not reported as ended
  bool waiting = false;            // a thread waits at the gate
  std::optional<Ns> busy_since{};  // begin of the oldest batch that has not ended
};

// What a tenant may do until the next permit.
struct Permit {
  bool closed = false;  // launches wait
  // The upper bound of `asked`; falls only with `asked`, which is then false. nullopt: no bound.
  std::optional<Ns> allowed{};
  std::optional<Ns> in_flight{};  // most GPU time launched and unfinished, or one launch

  bool operator==(const Permit&) const = default;
};

class Device {
 public:
  static constexpr Ns kLag = Apportioner::kSlice + std::chrono::milliseconds(1);

  explicit Device(Ns start) : whose_(start), queue_(start) {}

  void put(TenantId tenant, const TimePolicy& policy);
  // Adds a tenant whose time is accounted and not limited.
  void account(TenantId tenant);
  void remove(TenantId tenant);

  // For an unknown tenant this only takes the time away from the other tenants.
  void finished(TenantId tenant, const Batch& batch);
  // One step of the policy. The reference is valid until the next step. Tenants without a standing
  // count as idle.
  const ByTenant<Permit>& step(Ns now, const ByTenant<Standing>& standings);

  // The tenant used `time` more than it reported. It waits until it has paid for that.
  void correct(TenantId tenant, Ns time);

  // How much the policy examined so far: stretches, pieces of time and batches; for tests.
  std::uint64_t work() const { return whose_.work() + work_; }

  // The time until the next step while a tenant works.
  Ns pace() const { return queue_.pace(); }

  // GPU time charged to the tenant since put() or account(); 0 for a tenant that is not there.
  Ns charged(TenantId tenant) const;

  // Whether the tenant's `asked` was false at the last step, or within AskedTime::kStays before it.
  bool is_false(TenantId tenant) const;

 private:
  struct Ended {
    Ns end;
    Ns asked;
  };
  struct Account {
    std::vector<Ended> ended{};  // finished batches that are not closed
    AskedTime by_word{};
    Ns newly_ended{0};  // asked for by batches reported since the last step
    Ns newly_asked{0};  // at this step
    Ns told{0};         // `asked` as reported at the last step
    Ns room{0};         // may still be asked for
    bool is_false = false;
    bool is_urgent = false;  // latency-critical
    Ns charged{0};
    Ns believed_charged{0};  // `charged` at the last update of `belief`
    Belief belief{};
    // Sums over about the last kRecent of GPU time that it asked for.
    Ns recently_asked{0};
    Ns recently_charged{0};

    void observe(Ns now, const Standing& standing);
    Ns expected(Ns asked) const;
  };
  static constexpr Ns kRecent = std::chrono::milliseconds(20);

  void settle();
  void doubt(Ns now, TenantId tenant, Account& account, Demand& demand) const;
  Ns progress(Ns now, const ByTenant<Standing>& standings) const;
  static Demand demand_of(const Account& account, const Standing& standing, Ns paid);

  Apportioner whose_;
  FairQueue queue_;
  Ns last_end_{0};  // of all reported batches
  ByTenant<Account> accounts_;
  ByTenant<Demand> demands_;
  ByTenant<Permit> permits_;
  std::uint64_t work_ = 0;
};

}  // namespace tranche::limit
