#include "arbiter/memory_lender.h"

#include <algorithm>

#include "fmt/format.h"
#include "limit/lending.h"

namespace tranche::arbiter {

using namespace limit;

namespace {

const DeviceLimits& limits_of(const TenantSession& session, unsigned index) {
  return session.limits().devices[index];
}

// Only elastic tenants borrow. A tenant without enforcement has no promise, so kNoLimit represents
// it.
MemoryStanding standing_of(TenantSession& session, unsigned index) {
  const DeviceLimits& limits = limits_of(session, index);
  MemoryStanding standing{.promised = wire::kNoLimit,
                          .hard = wire::kNoLimit,
                          .held = session.held(index),
                          .present = !session.is_empty()};
  if (!session.is_held() || !limits.memory) return standing;
  standing.promised = limits.memory->value;
  standing.hard = most_memory(session.limits(), limits)->value;
  return standing;
}

}  // namespace

void MemoryLender::lend(const Sessions& sessions, const Others& others) {
  std::map<std::string, std::vector<Place>> devices;
  for (TenantSession* session : sessions) {
    for (unsigned i = 0; i < session->limits().devices.size(); ++i) {
      devices[limits_of(*session, i).uuid].push_back({session, i});
    }
  }
  may_hold_.clear();
  for (const auto& [device, places] : devices) {
    const bool lends = std::ranges::any_of(places, [](const Place& place) {
      return limits_of(*place.session, place.index).borrowing.has_value();
    });
    const bool is_known = std::ranges::none_of(
        places, [](const Place& place) { return place.session->awaits_usage(); });
    // Right after a start, what a tenant holds is not known until its usage file is there.
    if (!is_known) continue;
    if (lends) {
      lend_device(device, others(device), places);
    } else {
      missing_.erase(device);
    }
  }
  std::erase_if(missing_, [&](const auto& entry) { return !devices.contains(entry.first); });
}

void MemoryLender::lend_device(const std::string& device, std::uint64_t others,
                               const std::vector<Place>& places) {
  std::vector<MemoryStanding> standings;
  std::uint64_t device_bytes = 0;
  for (const Place& place : places) {
    standings.push_back(standing_of(*place.session, place.index));
    const auto& borrowing = limits_of(*place.session, place.index).borrowing;
    if (borrowing) device_bytes = std::max(device_bytes, borrowing->device.value);
  }
  const Loans loans = limit::lend(device_bytes, others, standings);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (standings[i].hard <= standings[i].promised) continue;
    places[i].session->lend_memory(places[i].index, loans.limits[i]);
    may_hold_[{places[i].session->limits().id, device}] = loans.limits[i];
  }
  note_missing(device, loans.missing);
}

void MemoryLender::note_missing(const std::string& device, std::uint64_t missing) {
  if (missing == 0) {
    if (missing_.erase(device) > 0) {
      log_.info(fmt::format("{}: what was lent is back, promises of memory hold again", device));
    }
    return;
  }
  if (!missing_.contains(device)) {
    log_.warn(fmt::format(
        "{}: {} MiB that a tenant was promised are lent; who borrowed them gets no more until they "
        "are back; end or restart a container that holds more than it was promised to have them "
        "now",
        device, missing >> 20U));
  }
  missing_[device] = missing;
}

void MemoryLender::describe(ArbiterStatus& status) const {
  for (TenantStatus& tenant : status.tenants) {
    bool lent = false;
    for (TenantDevice& device : tenant.devices) {
      const auto known = may_hold_.find({tenant.id, device.limits.uuid});
      if (known != may_hold_.end()) device.may_hold_bytes = known->second;
      const auto held = wire::add(device.charged_bytes, device.outside_bytes);
      const bool lacks = device.limits.memory && held < device.limits.memory->value;
      lent |= tenant.processes > 0 && lacks && missing_.contains(device.limits.uuid);
    }
    if (lent) tenant.degraded.push_back(Degraded::kMemoryLent);
  }
}

}  // namespace tranche::arbiter
