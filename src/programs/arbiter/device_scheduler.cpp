#include "arbiter/device_scheduler.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <utility>

namespace tranche::arbiter {

using namespace limit;

namespace {

// A tenant may write any times. A batch that ends in the future or lasts too long is ignored, or it
// would be kept for ever.
bool is_plausible(const Batch& batch, Ns now) {
  constexpr Ns kLongest = std::chrono::minutes(10);
  constexpr Ns kAhead = std::chrono::milliseconds(5);  // of the device clock before ours
  const Stretch& stretch = batch.stretch;
  return stretch.end <= now + kAhead && stretch.length() <= kLongest && batch.asked >= Ns{0} &&
         batch.asked <= kLongest;
}

// Of a wait between two steps, which are milliseconds apart while somebody waits.
constexpr Ns kLongestWait = std::chrono::milliseconds(20);

void wake(wire::DevicePolicy& policy) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&policy.turn), FUTEX_WAKE, INT_MAX, nullptr,
          nullptr, 0);
}

// A tenant may write any number. This one is cut so that adding what the policy allows beyond it
// cannot overflow.
Ns policy_time(std::uint64_t ns) {
  return Ns{static_cast<std::int64_t>(std::min(ns, std::uint64_t{1} << 62U))};
}
std::uint64_t wire_time(Ns time) { return static_cast<std::uint64_t>(time.count()); }

}  // namespace

DeviceScheduler::Part& DeviceScheduler::put(TenantId id, TenantSession& session, unsigned index) {
  auto& place = tenants_[id];
  if (place == nullptr) place = std::make_unique<Part>();
  Part& part = *place;
  part.session = &session;
  part.index = index;
  if (session.is_held()) {
    device_.put(id, time_policy_of(session.limits(), session.limits().devices[index]));
  } else {
    device_.account(id);
  }
  return part;
}

void DeviceScheduler::remove(TenantId id) {
  tenants_.erase(id);
  device_.remove(id);
}

bool DeviceScheduler::step(Ns now) {
  standings_.clear();
  bool is_busy = false;
  // Nobody waits where no steps are made.
  const Ns since = std::min(now - std::exchange(stepped_, now).value_or(now), kLongestWait);
  for (auto& [id, part] : tenants_) {
    Activity& activity = part->activity;
    if (part->session->awaits_usage()) continue;  // what it asked for is unknown
    std::erase_if(activity.ended, [&](const Batch& batch) { return !is_plausible(batch, now); });
    join(activity.ended, kMostBatches);
    for (const Batch& batch : activity.ended) device_.finished(id, batch);
    if (activity.busy_since && *activity.busy_since > now) activity.busy_since = now;
    if (activity.waiting) part->waited += since;
    is_busy |= activity.waiting || activity.busy_since || !activity.ended.empty();
    const Ns asked = policy_time(part->session->usage().spent_ns(part->index));
    standings_.try_emplace(id, Standing{.asked = asked,
                                        .outstanding = std::exchange(activity.unfinished, Ns{0}),
                                        .waiting = activity.waiting,
                                        .busy_since = activity.busy_since});
    activity.ended.clear();
    activity.waiting = false;
    activity.busy_since.reset();
  }
  for (const auto& [id, permit] : device_.step(now, standings_)) {
    const Part& part = *tenants_.at(id);
    auto& policy = part.session->policy().devices[part.index];
    // A thread counts itself as waiting before it reads `turn`. So a thread that is_waiting() does
    // not see will read the new `turn` and not sleep.
    if (publish(permit, policy) && part.session->is_waiting(part.index)) wake(policy);
  }
  return is_busy;
}

bool publish(const Permit& permit, wire::DevicePolicy& policy) {
  const std::uint64_t allowed = permit.allowed ? wire_time(*permit.allowed) : wire::kNoLimit;
  const auto in_flight =
      static_cast<std::uint32_t>(permit.in_flight ? wire_time(*permit.in_flight) : 0);
  const std::uint32_t closed = permit.closed ? 1 : 0;
  // Only the arbiter writes this page. Values that did not change are not written again, because
  // the tenant's processes read these cache lines all the time. The gate is closed before the
  // bounds change, and opened after.
  const auto was_closed = policy.closed.load(std::memory_order_relaxed);
  const auto was_allowed = policy.allowed_ns.load(std::memory_order_relaxed);
  if (closed > was_closed) policy.closed = 1;
  if (policy.in_flight_ns.load(std::memory_order_relaxed) != in_flight) {
    policy.in_flight_ns = in_flight;
  }
  if (was_allowed != allowed) policy.allowed_ns = allowed;
  if (closed < was_closed) policy.closed = 0;
  if (was_allowed >= allowed && was_closed <= closed) return false;
  policy.turn.fetch_add(1);
  return true;
}

}  // namespace tranche::arbiter
