#include "agent/health/health_notices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "cluster/formats/reasons.h"

namespace tranche::agent {
namespace {

using cluster::StandingEvents;

std::vector<UnhealthyDevice> values_of(const UnhealthyDevices& devices) {
  std::vector<UnhealthyDevice> values;
  for (const auto& [uuid, device] : devices) values.push_back(device);
  return values;
}

std::vector<std::string> names_of(const UnhealthyDevices& devices) {
  auto values = values_of(devices);
  std::ranges::stable_sort(values, {}, &UnhealthyDevice::index);
  std::vector<std::string> names;
  for (const auto& device : values) names.push_back(device.name);
  return names;
}

std::string key_of(HealthNotices::Time since) {
  return std::to_string(since.time_since_epoch().count());
}

// The unhealthy device that is held: itself, or its GPU; empty: none.
std::string unhealthy_part(const UnhealthyDevices& devices, const holdings::Holding& holding) {
  for (const auto& [uuid, device] : devices) {
    const auto& uuids = device.uuids;
    if (std::ranges::find(uuids, holding.device) != uuids.end()) return uuid;
    // A MIG instance that was made for a claim and is not read yet.
    if (holding.wire == holdings::Wire::kClaim && holding.gpu == uuid) return uuid;
  }
  return {};
}

struct Sufferer {
  const holdings::Holding* holding = nullptr;  // one of its holdings
  std::set<std::string> devices;
};

}  // namespace

StandingEvents::Events HealthNotices::tell(const UnhealthyDevices& devices, const Known& known,
                                           Time now) {
  follow(devices, now);
  StandingEvents::Events events;
  for (auto& fall : falls_) {
    tell_node(fall, now, events);
    const bool stands = !fall.unhealthy.empty();
    if (known && (stands || !fall.known)) {
      fall.pods = tell_pods(fall, *known);
      fall.known = now;
    }
    // If the holders became known after the fall was over, their Events stand as long as the
    // recovery's.
    const bool late = fall.known && *fall.known >= fall.last && now - *fall.known < kRecovered;
    if (stands || late) events.insert(fall.pods.begin(), fall.pods.end());
  }
  return events;
}

bool HealthNotices::owes() const {
  return std::ranges::any_of(falls_, [](const Fall& fall) { return !fall.known; });
}

void HealthNotices::follow(const UnhealthyDevices& devices, Time now) {
  UnhealthyDevices fresh = devices;
  for (auto& fall : falls_) {
    std::set<std::string> unhealthy;
    for (const auto& [uuid, device] : fall.devices) {
      if (devices.contains(uuid)) unhealthy.insert(uuid);
      fresh.erase(uuid);
    }
    if (unhealthy == fall.unhealthy) continue;
    if (!std::ranges::includes(fall.unhealthy, unhealthy)) {
      ++fall.falls;
      fall.known.reset();
    }
    if (unhealthy.empty()) ++fall.recoveries;
    fall.unhealthy = std::move(unhealthy);
    fall.last = now;
  }
  std::erase_if(falls_, [&](const Fall& fall) {
    return fall.unhealthy.empty() && now - fall.last >= kRemember;
  });
  if (fresh.empty()) return;
  Fall fall{.since = now, .devices = fresh, .unhealthy = {}, .last = now};
  for (const auto& [uuid, device] : fresh) fall.unhealthy.insert(uuid);
  falls_.push_back(std::move(fall));
}

// As in kubelet's own Events the uid is the node's name, so `kubectl describe` finds them.
void HealthNotices::tell_node(const Fall& fall, Time now, StandingEvents::Events& events) const {
  const cluster::ObjectReference node = {
      .api_version = "v1", .kind = "Node", .name = node_, .uid = node_};
  const auto key = "node/" + key_of(fall.since);
  if (!fall.unhealthy.empty()) {
    events.emplace(key, cluster::StandingEvent{.event = {.regarding = node,
                                                         .warning = true,
                                                         .reason = cluster::reason::kGpuUnhealthy,
                                                         .action = "Watch",
                                                         .note = "no new Pod gets " +
                                                                 describe(values_of(fall.devices)),
                                                         .time = fall.since},
                                               .instances = {std::to_string(fall.falls)}});
  } else if (now - fall.last < kRecovered) {
    events.emplace(
        key + "/recovered",
        cluster::StandingEvent{
            .event = {.regarding = node,
                      .warning = false,
                      .reason = cluster::reason::kGpuRecovered,
                      .action = "Watch",
                      .note = fmt::format("healthy again, and given to Pods unless something "
                                          "else withholds it: {}",
                                          fmt::join(names_of(fall.devices), ", ")),
                      .time = fall.last},
            .instances = {std::to_string(fall.recoveries)}});
  }
}

// About those that are unhealthy now; if none is, about all that fell.
StandingEvents::Events HealthNotices::tell_pods(const Fall& fall, const holdings::Holdings& held) {
  StandingEvents::Events events;
  UnhealthyDevices now = fall.devices;
  std::erase_if(now, [&](const auto& entry) {
    return !fall.unhealthy.empty() && !fall.unhealthy.contains(entry.first);
  });
  std::map<std::string, Sufferer> sufferers;
  for (const auto& one : held) {
    auto device = unhealthy_part(now, one);
    if (device.empty() || one.pod_uid.empty()) continue;
    auto& sufferer = sufferers[fmt::format("pod/{}/{}", one.pod_uid, one.container)];
    sufferer.holding = &one;
    sufferer.devices.insert(std::move(device));
  }
  for (const auto& [name, sufferer] : sufferers) {
    std::vector<UnhealthyDevice> devices;
    for (const auto& uuid : sufferer.devices) devices.push_back(now.at(uuid));
    const auto& one = *sufferer.holding;
    events.emplace(
        fmt::format("{}/{}", name, key_of(fall.since)),
        cluster::StandingEvent{.event = {.regarding = {.api_version = "v1",
                                                       .kind = "Pod",
                                                       .ns = one.ns,
                                                       .name = one.pod,
                                                       .uid = one.pod_uid},
                                         .warning = true,
                                         .reason = cluster::reason::kGpuUnhealthy,
                                         .action = "Watch",
                                         .note = fmt::format("container {} holds a part of {}",
                                                             one.container, describe(devices)),
                                         .time = fall.since},
                               .instances = {std::to_string(fall.falls)}});
  }
  return events;
}

}  // namespace tranche::agent
