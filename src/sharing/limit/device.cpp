#include "limit/device.h"

#include <algorithm>
#include <utility>

namespace tranche::limit {

void join(std::vector<Batch>& batches, std::size_t most) {
  if (batches.size() <= most) return;
  std::ranges::sort(batches, {}, [](const Batch& batch) { return batch.stretch.end; });
  const std::size_t each = (batches.size() + most - 1) / most;
  std::vector<Batch> joined;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (i % each == 0) {
      joined.push_back(batches[i]);
      continue;
    }
    Batch& batch = joined.back();
    batch.stretch.begin = std::min(batch.stretch.begin, batches[i].stretch.begin);
    batch.stretch.end = batches[i].stretch.end;
    batch.asked += batches[i].asked;
  }
  batches = std::move(joined);
}

void Device::put(TenantId tenant, const TimePolicy& policy) {
  accounts_[tenant].is_urgent = policy.priority == Priority::kLatencyCritical;
  queue_.put(tenant, policy);
}

void Device::account(TenantId tenant) {
  accounts_.try_emplace(tenant);
  queue_.remove(tenant);
}

void Device::remove(TenantId tenant) {
  accounts_.erase(tenant);
  queue_.remove(tenant);
  whose_.forget(tenant);
}

void Device::finished(TenantId tenant, const Batch& batch) {
  whose_.finished(tenant, batch.stretch, batch.asked);
  last_end_ = std::max(last_end_, batch.stretch.end);
  if (const auto account = accounts_.find(tenant); account != accounts_.end()) {
    account->second.ended.push_back({batch.stretch.end, batch.asked});
    account->second.newly_ended += batch.asked;
  }
}

const ByTenant<Permit>& Device::step(Ns now, const ByTenant<Standing>& standings) {
  for (const auto& [id, account] : accounts_) {
    const auto standing = standings.find(id);
    whose_.busy(id, standing == standings.end() ? std::nullopt : standing->second.busy_since);
  }
  for (const auto& [id, time] : whose_.close(now - kLag)) {
    queue_.charge(id, time);
    if (const auto account = accounts_.find(id); account != accounts_.end()) {
      account->second.charged += time;
      account->second.recently_charged += time;
    }
  }
  settle();
  demands_.clear();
  for (const auto& [id, standing] : standings) {
    const auto account = accounts_.find(id);
    if (account == accounts_.end()) continue;
    account->second.observe(now, standing);
    Demand& demand = demands_[id] = demand_of(account->second, standing, whose_.paid(id));
    doubt(now, id, account->second, demand);
  }
  permits_.clear();
  for (const auto& [id, room] : queue_.step(now, demands_, progress(now, standings))) {
    Permit& permit = permits_[id] = {room.closed, std::nullopt, room.in_flight};
    if (!room.room) continue;
    const auto standing = standings.find(id);
    Account& account = accounts_.at(id);
    if (standing != standings.end()) account.room = std::max(account.room, *room.room);
    permit.allowed = account.told + account.room;
    permit.closed |= account.is_false && account.room == Ns{0};
  }
  return permits_;
}

void Device::correct(TenantId tenant, Ns time) {
  const auto account = accounts_.find(tenant);
  if (account == accounts_.end()) return;
  account->second.charged += time;
  queue_.owe(tenant, time);
}

Ns Device::charged(TenantId tenant) const {
  const auto account = accounts_.find(tenant);
  return account == accounts_.end() ? Ns{0} : account->second.charged;
}

bool Device::is_false(TenantId tenant) const {
  const auto account = accounts_.find(tenant);
  return account != accounts_.end() && account->second.is_false;
}

// The device has worked since the oldest work under way began. What it worked on before the last
// end that was reported is no longer outstanding, and what it worked on before the last close is
// charged.
Ns Device::progress(Ns now, const ByTenant<Standing>& standings) const {
  std::optional<Ns> since;
  for (const auto& [id, standing] : standings) {
    if (standing.busy_since) since = std::min(since.value_or(now), *standing.busy_since);
  }
  return since ? now - std::max({*since, last_end_, whose_.closed()}) : Ns{0};
}

void Device::settle() {
  for (auto& [id, account] : accounts_) {
    work_ += account.ended.size();
    std::erase_if(account.ended, [&](const Ended& batch) {
      if (batch.end > whose_.closed()) return false;
      account.recently_asked += batch.asked;
      return true;
    });
    while (account.recently_asked > 2 * kRecent) {
      account.recently_asked /= 2;
      account.recently_charged /= 2;
    }
  }
}

// The expected charge for `asked`, in the ratio of earlier charges to estimates; at least a quarter
// of `asked`.
Ns Device::Account::expected(Ns asked) const {
  if (recently_asked < kRecent || recently_charged >= recently_asked) return asked;
  const double part =
      static_cast<double>(recently_charged.count()) / static_cast<double>(recently_asked.count());
  return Ns{static_cast<std::int64_t>(static_cast<double>(asked.count()) * std::max(part, 0.25))};
}

void Device::Account::observe(Ns now, const Standing& standing) {
  told = standing.asked;
  newly_asked = by_word.observe(now, told, std::exchange(newly_ended, Ns{0}), standing.outstanding);
  room = std::max(room - newly_asked, Ns{0});
  is_false = by_word.is_false(now);
}

// Takes out of `demand` what is no longer believed: that the tenant waits although it may go, and
// that it is urgent.
void Device::doubt(Ns now, TenantId tenant, Account& account, Demand& demand) const {
  const auto permit = permits_.find(tenant);
  if (permit == permits_.end()) return;
  const bool lingers = demand.waiting && (!permit->second.allowed || account.room > Ns{0});
  const bool presses = account.is_urgent && demand.outstanding > Ns{0};
  const Ns used = account.charged - std::exchange(account.believed_charged, account.charged);
  account.belief.observe(now, presses || (lingers && !permit->second.closed), used,
                         accounts_.size());
  if (account.belief.is_believed()) return;
  demand.presses = false;
  if (!lingers) return;
  demand.waiting = false;
  demand.room = Ns{0};
}

Demand Device::demand_of(const Account& account, const Standing& standing, Ns paid) {
  Ns ended{0};
  for (const Ended& batch : account.ended) ended += batch.asked;
  return {.ended = account.expected(ended),
          .outstanding = account.expected(standing.outstanding),
          .worked = paid,
          .room = account.room,
          .waiting = standing.waiting};
}

}  // namespace tranche::limit
