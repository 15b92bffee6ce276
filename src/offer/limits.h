#pragma once
// What `tranche.limits` comes to on the devices of an offer: of each device the part that a
// container's tranches add up to. Pure.
//
// Memory: `equal` is what the driver tells of the device divided by its replicas; this and a
// percentage are rounded down to whole MiB. A container that holds several tranches of a device has
// the sum of their parts, and who has all of it has no limit at all. MIG instances and GPUs are
// treated alike: the device is the instance.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "config/limits.h"
#include "offer/memory_enforcer.h"

namespace tranche::offer {

struct Device;
struct Offer;
struct ResourceOffer;

// Memory beyond the part, borrowed while it is idle.
struct Borrowing {
  Bytes hard;    // more than the part
  Bytes device;  // what the device has
  bool operator==(const Borrowing&) const = default;
};

// A container's part of one device.
struct DeviceLimits {
  std::string uuid;                      // "GPU-..." or "MIG-..."
  std::optional<Bytes> memory;           // nullopt: no limit
  int weight = 1;                        // > 0; among those that want the device's time
  std::optional<int> permille{};         // of the device's time, 1..999; nullopt: no cap
  std::optional<Borrowing> borrowing{};  // nullopt: it does not borrow
  MemoryEnforcer enforcer = MemoryEnforcer::kLimiter;  // what keeps `memory`
  bool operator==(const DeviceLimits&) const = default;
};

// A container's part of one resource.
struct GrantLimits {
  config::Enforcement enforcement = config::Enforcement::kOff;
  config::PriorityClass priority = config::PriorityClass::kNormal;
  std::vector<DeviceLimits> devices;  // as the request named them first
  bool operator==(const GrantLimits&) const = default;
};

// Of a resource that is offered. Which of its devices have how many tranches is in the offer.
struct OfferLimits {
  config::Limits rules;
  std::vector<int> replicas;                // of ResourceOffer::devices, in that order
  std::vector<MemoryEnforcer> enforcers{};  // the same
  // For people: which enforcer holds instead of the one that was asked for, and why; empty: that
  // one.
  std::string instead{};
  bool operator==(const OfferLimits&) const = default;
};

// The limits of whoever holds `ids` of a resource. nullopt: the resource has none, or one of the
// ids is not offered.
std::optional<GrantLimits> limits_for(const ResourceOffer& offer, std::span<const std::string> ids);

// Why these rules cannot be kept on `device`, cut into `replicas`, and what to do; empty: they can.
std::string objection(const config::Limits& rules, const Device& device, int replicas);

// Fills in the limits of each resource, and by what each device's are kept. Resources whose rules
// cannot be kept are withheld, with the reason; entries about resources that are not there, and
// enforcers that cannot be had, are warned of.
void apply_limits(const config::LimitTable& table, const gpu::Machine& machine, Offer& offer);

// Takes out every resource that has limits: this node cannot keep them, for `reason`.
void withhold_limited(Offer& offer, const std::string& reason);
// The same of those whose containers are to have the runtime's hook.
void withhold_hooked(Offer& offer, const std::string& reason);

// Whether containers of `offer` get the runtime's hook.
bool has_runtime_hook(const ResourceOffer& offer);

}  // namespace tranche::offer
