#pragma once
// What `tranche.limits` comes to on the devices of an offer: of each device the part that a
// container's tranches add up to. Pure.
//
// Memory: `equal` is what the driver tells of the device divided by its replicas; this and a
// percentage are rounded down to whole MiB. A container that holds several tranches of a device has
// the sum of their parts, and who has all of it has no limit at all. MIG instances and GPUs are
// treated alike: the device is the instance.

#include <optional>
#include <span>
#include <string>

#include "config/limits.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

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
