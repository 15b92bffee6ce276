#pragma once
// Applies `tranche.limits` to the devices of an offer: computes a container's part of each device
// as the sum of its tranches' parts. Pure.
//
// Memory: `equal` is the device's usable memory divided by its replicas.
// This value and a percentage are rounded down to whole MiB. A container that holds several
// tranches of a device has the sum of their parts. A container that holds all of them has no limit.
// MIG instances and GPUs are treated alike: for an instance the device is the instance.

#include <optional>
#include <span>
#include <string>

#include "config/limits.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

// The limits of a container that holds `ids` of a resource. nullopt: the resource has no limits, or
// one of the ids is not offered.
std::optional<GrantLimits> limits_for(const ResourceOffer& offer, std::span<const std::string> ids);

// Why these rules cannot be enforced on `device`, divided into `replicas`, and what to do; empty:
// they can.
std::string objection(const config::Limits& rules, const Device& device, int replicas);

// The same for the resource of that name, with the line of its rules.
std::string limits_objection(const config::LimitTable& table, const config::ResourceName& name,
                             const Device& device, int replicas);

// Fills in the limits of each resource, and the memory enforcer of each device; no device may have
// a limits_objection(). Entries about missing resources give warnings, and so do unavailable
// enforcers.
void apply_limits(const config::LimitTable& table, const gpu::Machine& machine, Offer& offer);

// Withholds every resource that has limits: this node cannot enforce them, for `reason`.
void withhold_limited(Offer& offer, const std::string& reason);
// Withholds every resource whose containers should get the runtime's hook, for `reason`.
void withhold_hooked(Offer& offer, const std::string& reason);

// Whether containers of `offer` get the runtime's hook.
bool has_runtime_hook(const ResourceOffer& offer);

}  // namespace tranche::offer
