#pragma once
// Schedules one device among the tenants that have a part of it: reads what they did, steps the
// policy (limit/device.h), and writes what each may do into its policy page.
//
// Used by the arbiter's one thread.

#include <cstdint>
#include <memory>
#include <optional>

#include "arbiter/tenant_session.h"
#include "limit/device.h"

namespace tranche::arbiter {

// What one tenant's processes did on one device since the last step.
struct Activity {
  std::vector<limit::Batch> ended;
  // GPU time that living processes asked for, of work that is not finished.
  limit::Ns unfinished{0};
  std::optional<limit::Ns> busy_since{};
  bool waiting = false;
};

class DeviceScheduler {
 public:
  explicit DeviceScheduler(limit::Ns now) : device_(now) {}

  // The most batches of a tenant that a step takes individually; beyond that they are joined
  // (limit/device.h).
  static constexpr std::size_t kMostBatches = 128;

  // A tenant's part of the device.
  struct Part {
    TenantSession* session = nullptr;
    unsigned index = 0;  // of the device in the tenant's limits
    Activity activity{};
    // Since this arbiter knows the tenant.
    limit::Ns waited{0};         // with a thread at the gate
    std::uint64_t launches = 0;  // of the batches that have ended, as its processes report them
  };
  // Adds the tenant, or renews its part when its limits changed. `session` must outlive the part.
  // The address of the part stays valid until remove(); callers record into its activity.
  Part& put(limit::TenantId id, TenantSession& session, unsigned index);
  void remove(limit::TenantId id);
  bool empty() const { return tenants_.empty(); }

  // Consumes the activities of all parts. False: no tenant of the device works or waits, so no
  // further step is needed until one does.
  bool step(limit::Ns now);
  // The time between steps while a tenant of the device works or waits.
  limit::Ns pace() const { return device_.pace(); }

  limit::Ns charged(limit::TenantId id) const { return device_.charged(id); }
  const Part& part(limit::TenantId id) const { return *tenants_.at(id); }
  // Whether the tenant's own count of what it asked for is false (limit/asked_time.h).
  bool is_false(limit::TenantId id) const { return device_.is_false(id); }
  // Charges GPU time that the tenant used and did not report.
  void correct(limit::TenantId id, limit::Ns time) { device_.correct(id, time); }

 private:
  limit::Device device_;
  limit::ByTenant<std::unique_ptr<Part>> tenants_;
  limit::ByTenant<limit::Standing> standings_;  // reused by every step
  std::optional<limit::Ns> stepped_;            // the last step
};

// Writes `permit` into a tenant's policy page. True: threads waiting at the gate must be woken.
bool publish(const limit::Permit& permit, limit::wire::DevicePolicy& policy);

}  // namespace tranche::arbiter
