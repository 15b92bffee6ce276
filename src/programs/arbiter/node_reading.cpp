// What the arbiter hands to the flight recorder.

#include <algorithm>

#include "arbiter/arbiter.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

incidents::Failure failure_of(const tenant::Usage::Failure& failure) {
  return {failure.device, failure.asked, failure.held,
          incidents::Ns{static_cast<std::int64_t>(failure.at)}};
}

std::uint64_t count(Ns time) { return static_cast<std::uint64_t>(time.count()); }

// Bytes that its processes charge and still have, plus what NVML counts beyond that.
std::uint64_t held_of(const TenantSession& session, unsigned device) {
  std::uint64_t held = session.policy().devices[device].outside;
  for (const unsigned slot : session.slots()) {
    held = wire::add(held, session.usage().kept(slot, device));
  }
  return held;
}

std::optional<std::uint64_t> limit_of(const TenantSession& session, unsigned device) {
  const std::uint64_t limit = session.policy().devices[device].memory_limit;
  return limit == wire::kNoLimit ? std::nullopt : std::optional(limit);
}

}  // namespace

// When the oldest work of the tenant on its device began that has not ended, by its own account.
std::optional<Ns> Arbiter::busy_since(const Tenant& tenant, unsigned device) {
  std::optional<Ns> since;
  for (const unsigned slot : tenant.session->slots()) {
    const std::size_t place = slot * tenant.parts.size() + device;
    if (place >= tenant.work.size() || !tenant.work[place].told_since) continue;
    since =
        std::min(since.value_or(*tenant.work[place].told_since), *tenant.work[place].told_since);
  }
  return since;
}

// Tenants that await their usage memory are left out: what they hold is unknown.
void Arbiter::prepare_reading() {
  is_reading_ready_ = true;
  node_reading_ = {};
  read_.clear();
  for (const auto& [id, tenant] : tenants_) {
    const TenantSession& session = *tenant.session;
    if (session.awaits_usage()) {
      node_reading_.unsettled.push_back(id);
      is_reading_ready_ = false;
      continue;
    }
    read_.push_back(&tenant);
    auto& told = node_reading_.tenants.emplace_back(
        incidents::TenantReading{.id = id,
                                 .resource = session.limits().resource,
                                 .by_limit = {},
                                 .by_driver = {},
                                 .devices = {}});
    for (const auto& device : session.limits().devices) {
      told.devices.push_back(
          {.device = device.uuid, .limit_bytes = {}, .totals = {}, .busy_since = {}});
      node_reading_.others[device.uuid] = 0;
    }
  }
}

void Arbiter::fill(incidents::TenantReading& told, const Tenant& tenant) const {
  TenantSession& session = *tenant.session;
  const auto totals = session.totals();
  told.refused = wire::add(totals.refused, totals.driver_refused);
  told.by_limit = failure_of(totals.last_refused);
  told.by_driver = failure_of(totals.last_driver_refused);
  for (unsigned i = 0; i < told.devices.size(); ++i) {
    told.devices[i].limit_bytes = limit_of(session, i);
    told.devices[i].totals = {.held = held_of(session, i),
                              .launches = tenant.parts[i]->launches,
                              .gpu_ns = count(tenant.schedulers[i]->charged(tenant.id)),
                              .asked_ns = session.usage().spent_ns(i),
                              .waited_ns = count(tenant.parts[i]->waited),
                              .refused = told.refused};
    told.devices[i].busy_since = busy_since(tenant, i);
  }
}

const incidents::NodeReading& Arbiter::reading() {
  if (!is_reading_ready_) prepare_reading();
  for (std::size_t i = 0; i < read_.size(); ++i) fill(node_reading_.tenants[i], *read_[i]);
  if (reconciler_ == nullptr) return node_reading_;
  for (auto& [device, bytes] : node_reading_.others) bytes = reconciler_->others_bytes(device);
  return node_reading_;
}

}  // namespace tranche::arbiter
