#include "arbiter/device_seat.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace tranche::arbiter {

using namespace limit;

namespace {

bool is_held(const TenantLimits& limits) {
  return limits.enforcement == wire::Enforcement::kStrict ||
         limits.enforcement == wire::Enforcement::kElastic;
}

// A tenant may write anything; what has not happened yet would be kept for ever.
bool is_plausible(const Batch& batch, Ns now) {
  constexpr Ns kLongest = std::chrono::minutes(10);
  constexpr Ns kAhead = std::chrono::milliseconds(5);  // of the device clock
  const Stretch& stretch = batch.stretch;
  return stretch.end <= now + kAhead && stretch.length() <= kLongest && batch.asked >= Ns{0} &&
         batch.asked <= kLongest;
}

std::uint64_t wire_time(Ns time) { return static_cast<std::uint64_t>(time.count()); }

}  // namespace

void DeviceSeat::put(TenantId id, TenantSeat& seat, unsigned index) {
  tenants_[id] = {&seat, index};
  if (is_held(seat.limits())) {
    device_.put(id, share_of(seat.limits(), seat.limits().devices[index]));
  } else {
    device_.account(id);
  }
}

void DeviceSeat::remove(TenantId id) {
  tenants_.erase(id);
  device_.remove(id);
}

bool DeviceSeat::step(Ns now, std::map<TenantId, Activity> activities) {
  std::map<TenantId, Standing> standings;
  bool is_busy = false;
  for (auto& [id, activity] : activities) {
    const auto part = tenants_.find(id);
    if (part == tenants_.end()) continue;
    for (const Batch& batch : activity.ended) {
      if (is_plausible(batch, now)) device_.finished(id, batch);
    }
    if (activity.busy_since && *activity.busy_since > now) activity.busy_since = now;
    const Ns asked{part->second.seat->usage().spent_ns(part->second.index)};
    is_busy |= activity.waiting || activity.busy_since || !activity.ended.empty();
    standings[id] = {asked, activity.waiting, activity.busy_since};
  }
  for (const auto& [id, permit] : device_.step(now, standings)) {
    const Part& part = tenants_.at(id);
    publish(permit, part.seat->policy().devices[part.index]);
  }
  return is_busy;
}

void publish(const Permit& permit, wire::DevicePolicy& policy) {
  const std::uint64_t allowed = permit.allowed ? wire_time(*permit.allowed) : wire::kNoLimit;
  const auto in_flight =
      static_cast<std::uint32_t>(permit.in_flight ? wire_time(*permit.in_flight) : 0);
  const std::uint32_t closed = permit.closed ? 1 : 0;
  // Closing counts at once; opening after what bounds it is in place.
  if (closed != 0) policy.closed = 1;
  policy.in_flight_ns = in_flight;
  const bool more = policy.allowed_ns.exchange(allowed) < allowed;
  const bool opened = policy.closed.exchange(closed) > closed;
  if (!more && !opened) return;
  policy.turn.fetch_add(1);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&policy.turn), FUTEX_WAKE, INT_MAX, nullptr,
          nullptr, 0);
}

}  // namespace tranche::arbiter
