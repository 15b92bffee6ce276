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

incidents::NodeReading Arbiter::reading() const {
  incidents::NodeReading node;
  for (const auto& [id, tenant] : tenants_) {
    TenantSession& session = *tenant.session;
    if (session.awaits_usage()) {
      node.unsettled.push_back(id);
      continue;
    }
    const auto totals = session.totals();
    auto& told = node.tenants.emplace_back(
        incidents::TenantReading{.id = id,
                                 .resource = session.limits().resource,
                                 .refused = wire::add(totals.refused, totals.driver_refused),
                                 .by_limit = failure_of(totals.last_refused),
                                 .by_driver = failure_of(totals.last_driver_refused),
                                 .devices = {}});
    const auto& devices = session.limits().devices;
    for (unsigned i = 0; i < devices.size(); ++i) {
      told.devices.push_back({.device = devices[i].uuid,
                              .limit_bytes = limit_of(session, i),
                              .totals = {.held = held_of(session, i),
                                         .launches = tenant.parts[i]->launches,
                                         .gpu_ns = count(charged(id, i)),
                                         .asked_ns = session.usage().spent_ns(i),
                                         .waited_ns = count(tenant.parts[i]->waited),
                                         .refused = told.refused},
                              .busy_since = busy_since(tenant, i)});
      if (reconciler_ != nullptr) {
        node.others[devices[i].uuid] = reconciler_->others_bytes(devices[i].uuid);
      }
    }
  }
  return node;
}

}  // namespace tranche::arbiter
