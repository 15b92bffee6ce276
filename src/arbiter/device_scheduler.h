#pragma once
// One device and the tenants that have a part of it: reads what they did, steps the policy
// (limit/device.h), and writes what each may do into its policy page.
//
// Used by the arbiter's one thread.

#include <memory>

#include "arbiter/tenant_session.h"
#include "limit/device.h"

namespace tranche::arbiter {

// What one tenant's processes did on one device since the last step.
struct Activity {
  std::vector<limit::Batch> ended;
  limit::Ns unfinished{0};  // of what the processes that live asked for
  std::optional<limit::Ns> busy_since{};
  bool waiting = false;
};

class DeviceScheduler {
 public:
  explicit DeviceScheduler(limit::Ns now) : device_(now) {}

  // A tenant's part of the device.
  struct Part {
    TenantSession* session = nullptr;
    unsigned index = 0;  // the device's, in the tenant's limits
    Activity activity{};
  };
  // `session` outlives its part here. A session whose limits changed is put again. The part stays
  // where it is until it is removed: what happens goes into its activity.
  Part& put(limit::TenantId id, TenantSession& session, unsigned index);
  void remove(limit::TenantId id);
  bool empty() const { return tenants_.empty(); }

  // Takes the activities. false: nobody there works or waits, and nothing is bound: no further
  // step is needed until somebody does.
  bool step(limit::Ns now);
  // How soon the next step should come while somebody works.
  limit::Ns pace() const { return device_.pace(); }

  limit::Ns charged(limit::TenantId id) const { return device_.charged(id); }
  // Charges what it used and did not tell.
  void correct(limit::TenantId id, limit::Ns time) { device_.correct(id, time); }

 private:
  limit::Device device_;
  limit::ByTenant<std::unique_ptr<Part>> tenants_;
  limit::ByTenant<limit::Standing> standings_;  // room for the next step's
};

// Makes a tenant's page say what `permit` says. true: who waits is to be woken.
bool publish(const limit::Permit& permit, limit::wire::DevicePolicy& policy);

}  // namespace tranche::arbiter
