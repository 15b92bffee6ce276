#include "limit/fair_queue.h"

#include <algorithm>
#include <limits>

namespace tranche::limit {

void FairQueue::put(TenantId tenant, const TimePolicy& policy) {
  const auto [entry, is_new] = tenants_.try_emplace(tenant);
  entry->second.policy = policy;
  if (is_new) join_the_queue(entry->second);
}

void FairQueue::charge(TenantId tenant, Ns time) {
  if (const auto entry = tenants_.find(tenant); entry != tenants_.end()) {
    entry->second.charged += time;
  }
}

void FairQueue::owe(TenantId tenant, Ns time) {
  charge(tenant, time);
  const auto entry = tenants_.find(tenant);
  if (entry != tenants_.end() && !entry->second.policy.permille) entry->second.debt += time;
}

const ByTenant<Room>& FairQueue::step(Ns now, const ByTenant<Demand>& demands, Ns progress) {
  const Ns elapsed = std::max(now - now_, Ns{0});
  now_ = std::max(now, now_);
  progress_ = std::clamp(progress, Ns{0}, kHorizon - kQuantum);
  latency_critical_here_ = false;
  for (auto& [id, tenant] : tenants_) {
    const auto demand = demands.find(id);
    count(tenant, demand == demands.end() ? Demand{} : demand->second);
    latency_critical_here_ |= tenant.policy.priority == Priority::kLatencyCritical;
  }
  feed_the_idle();
  fill_budgets(elapsed);
  pay_debts(elapsed);
  for (const auto& [id, tenant] : tenants_) {
    if (tenant.presses()) latency_critical_until_ = now_ + kHold;
  }
  give_turns();
  close_the_overdrawn();
  // Each round adds a quantum to what is in flight, which is bounded, so the loop ends.
  while (Tenant* tenant = next()) tenant->demand.room += kQuantum;
  take_back();
  rooms_.clear();
  for (const auto& [id, tenant] : tenants_) rooms_[id] = room_of(tenant);
  return rooms_;
}

void FairQueue::count(Tenant& tenant, const Demand& demand) {
  const bool was_active = tenant.active();
  tenant.demand = demand;
  const Ns used = tenant.used();
  tenant.virtual_time +=
      static_cast<double>((used - tenant.counted).count()) / tenant.policy.weight;
  tenant.counted = used;
  if (!was_active && tenant.active()) join_the_queue(tenant);
}

// A tenant that wants nothing while there is room does not starve.
void FairQueue::feed_the_idle() {
  Ns in_flight{0};
  for (const auto& [id, tenant] : tenants_) {
    if (!is_open(tenant) && !tenant.is_overdrawn()) in_flight += tenant.in_flight();
  }
  if (in_flight >= kHorizon) return;
  for (auto& [id, tenant] : tenants_) {
    if (!tenant.active()) tenant.fed = now_;
  }
}

// Idle time earns nothing: a tenant that comes back is placed no earlier than the first of those
// that stayed.
void FairQueue::join_the_queue(Tenant& tenant) const {
  double first = std::numeric_limits<double>::infinity();
  for (const auto& [id, other] : tenants_) {
    if (&other != &tenant && other.active()) first = std::min(first, other.virtual_time);
  }
  if (first < std::numeric_limits<double>::infinity()) {
    tenant.virtual_time = std::max(tenant.virtual_time, first);
  }
}

// What was saved while others held it back stays until it is used, as long as the tenant works.
Ns FairQueue::Tenant::most_saved() const {
  if (!active()) return kBurst;
  return is_held_back() ? kStarved : std::clamp(budget - used(), kBurst, kStarved);
}

void FairQueue::fill_budgets(Ns elapsed) {
  for (auto& [id, tenant] : tenants_) {
    if (!tenant.policy.permille) continue;
    const Ns most = tenant.most_saved();
    tenant.budget += elapsed * *tenant.policy.permille / 1000;
    tenant.budget = std::min(tenant.budget, tenant.used() + most);
  }
}

// A debt is paid off by the part of the time that the tenant's weight would have had. There is no
// debt on a device that no one else wants.
void FairQueue::pay_debts(Ns elapsed) {
  for (auto& [id, tenant] : tenants_) {
    if (tenant.debt == Ns{0}) continue;
    std::uint64_t others = 0;
    for (const auto& [other_id, other] : tenants_) {
      if (&other != &tenant && other.active()) others += other.policy.weight;
    }
    const double part = static_cast<double>(tenant.policy.weight) /
                        static_cast<double>(tenant.policy.weight + others);
    const Ns paid{static_cast<std::int64_t>(static_cast<double>(elapsed.count()) * part)};
    tenant.debt = others == 0 ? Ns{0} : std::max(tenant.debt - paid, Ns{0});
  }
}

// Whatever was granted before, and whatever the tenant says that it has asked for.
void FairQueue::close_the_overdrawn() {
  for (auto& [id, tenant] : tenants_) {
    if (tenant.is_spent() || tenant.debt > Ns{0}) tenant.closed = true;
  }
}

// Closes tenants that are far ahead of a waiting, at least as urgent one that got nothing: by more
// than launches of different lengths explain.
void FairQueue::take_back() {
  const auto waits_in_vain = [&](const Tenant& tenant) {
    return tenant.demand.waiting && tenant.demand.room == Ns{0} && !tenant.closed &&
           !is_open(tenant);
  };
  const Tenant* first = nullptr;
  for (const auto& [id, tenant] : tenants_) {
    if (!waits_in_vain(tenant)) continue;
    if (first == nullptr || tenant.virtual_time < first->virtual_time) first = &tenant;
  }
  if (first == nullptr) return;
  for (auto& [id, tenant] : tenants_) {
    if (is_open(tenant) || tenant.policy.priority < first->policy.priority) continue;
    const double ahead = (tenant.virtual_time - first->virtual_time) * tenant.policy.weight;
    if (ahead > static_cast<double>(kStarved.count())) tenant.closed = true;
  }
}

// Closes best-effort tenants, except the one that has the turn.
void FairQueue::give_turns() {
  const auto holder = tenants_.find(turn_);
  const bool goes_on = now_ < turn_ends_ && holder != tenants_.end() && holder->second.active();
  const Tenant* first = nullptr;
  for (auto& [id, tenant] : tenants_) {
    tenant.closed = latency_critical_here_ && tenant.policy.priority == Priority::kBestEffort;
    if (!tenant.closed || goes_on || !tenant.active() || tenant.is_spent()) continue;
    if (first != nullptr && tenant.virtual_time >= first->virtual_time) continue;
    first = &tenant;
    turn_ = id;
    turn_ends_ = now_ + kTurn;
  }
  if (const auto tenant = tenants_.find(turn_); tenant != tenants_.end() && !pressing()) {
    tenant->second.closed = false;
  }
}

// Whether the tenant need not be held back: it is alone on the device, or latency-critical.
bool FairQueue::is_open(const Tenant& tenant) const {
  if (tenant.policy.permille) return false;
  return tenants_.size() == 1 || tenant.policy.priority == Priority::kLatencyCritical;
}

// Returns the first of the tenants at work, if the others' reported work in flight has kept it from
// the device for kStarved. Then what those after it have in flight does not count, whether their
// reports are true or not: they are ahead of their shares already. nullptr: none.
FairQueue::Tenant* FairQueue::starving() {
  if (pressing()) return nullptr;
  // A tenant that reports work and has not asked for long works without permission.
  const auto is_unasked = [&](const Tenant& tenant) {
    return !tenant.demand.waiting && now_ - tenant.fed >= kStarved;
  };
  Tenant* first = nullptr;
  for (auto& [id, tenant] : tenants_) {
    if (tenant.closed || is_open(tenant) || !tenant.active() || is_unasked(tenant)) continue;
    if (first == nullptr || tenant.virtual_time < first->virtual_time) first = &tenant;
  }
  if (first == nullptr || !first->demand.waiting || now_ - first->fed < kStarved) return nullptr;
  if (first->policy.permille && first->used() + first->demand.room >= first->budget) return nullptr;
  Ns in_flight{0};
  for (const auto& [id, tenant] : tenants_) {
    const bool is_before = tenant.virtual_time <= first->virtual_time && !is_unasked(tenant);
    if (is_before && !is_open(tenant)) in_flight += tenant.in_flight();
  }
  return in_flight < kHorizon ? first : nullptr;
}

// Returns the tenant that gets the next quantum: the first one of the highest priority that may
// have more in flight. nullptr: none.
FairQueue::Tenant* FairQueue::next() {
  Ns in_flight{0};  // of this class and those above it
  for (const Priority priority :
       {Priority::kLatencyCritical, Priority::kNormal, Priority::kBestEffort}) {
    for (const auto& [id, tenant] : tenants_) {
      const bool counts = tenant.policy.priority == priority && !is_open(tenant);
      if (counts && !tenant.is_overdrawn()) in_flight += tenant.in_flight();
    }
    if (in_flight - progress_ >= kHorizon) return starving();
    if (priority == Priority::kNormal && pressing() && in_flight >= kInFlight) continue;
    Tenant* first = nullptr;
    for (auto& [id, tenant] : tenants_) {
      if (tenant.policy.priority != priority || !tenant.demand.waiting) continue;
      if (tenant.closed || is_open(tenant)) continue;
      if (tenant.policy.permille && tenant.used() + tenant.demand.room >= tenant.budget) continue;
      if (first == nullptr || tenant.place() < first->place()) first = &tenant;
    }
    if (first != nullptr) {
      first->fed = now_;
      return first;
    }
  }
  return nullptr;
}

Room FairQueue::room_of(const Tenant& tenant) const {
  Room room{.closed = tenant.closed};
  if (!is_open(tenant)) room.room = tenant.demand.room;
  const bool is_held_back = tenant.policy.priority == Priority::kBestEffort ? latency_critical_here_
                            : tenant.policy.priority == Priority::kNormal   ? pressing()
                                                                            : false;
  if (is_held_back) room.in_flight = kInFlight;
  return room;
}

}  // namespace tranche::limit
