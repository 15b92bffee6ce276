#include "offer/claim_keeper.h"

#include <fmt/format.h>

#include <algorithm>

#include "offer/devices.h"
#include "offer/memory_enforcer.h"
#include "offer/mps.h"

namespace tranche::offer {
namespace {

const ResourceOffer* resource_of(const Offer& offer, const std::string& uuid) {
  const auto found = std::ranges::find_if(offer.resources, [&](const ResourceOffer& resource) {
    return std::ranges::find(resource.devices, uuid, &Device::uuid) != resource.devices.end();
  });
  return found == offer.resources.end() ? nullptr : &*found;
}

config::Limits rules_of(const config::LimitTable& table, const ResourceOffer* resource) {
  auto rules = resource == nullptr ? table.general : table.of(resource->name);
  rules.enforcement = Enforcement::kStrict;
  rules.memory = config::EqualPart{};
  return rules;
}

}  // namespace

ClaimKeeper ClaimKeepers::of(const std::string& uuid) const {
  const auto found = gpus.find(uuid);
  return found == gpus.end() ? ClaimKeeper() : found->second;
}

bool ClaimKeepers::wants_hook() const {
  return std::ranges::any_of(gpus, [](const auto& one) { return one.second.hook; });
}

bool is_shared_as_prepared(const holdings::Holding& holding, const ClaimKeepers& keepers) {
  return holding.mps == keepers.of(holding.device).mps;
}

ClaimKeepers claim_keepers(const config::LimitTable& table, const gpu::Machine& machine,
                           const Offer& wished) {
  ClaimKeepers keepers;
  for (const auto& gpu : machine.gpus) {
    const auto& uuid = gpu.uuid.value;
    const auto* resource = resource_of(wished, uuid);
    const auto rules = rules_of(table, resource);
    const bool by_mps = resource != nullptr && mps_gpus(*resource).contains(uuid);
    const auto why =
        rules.wants_kernel() ? kernel_objection(machine, device_of(gpu, {})) : std::string();
    const ClaimKeeper keeper{
        .enforcer = choose_enforcer(rules, {.by_kernel = why.empty(), .by_mps = by_mps}),
        .mps = by_mps ? resource->name.value : std::string(),
        .turns = rules.policy == config::SharePolicy::kPriority,
        .hook = rules.runtime_hook};
    // Shares have no GPU that is in MIG mode.
    if (keepers.instead.empty() && !why.empty() && !gpu.mig_enabled()) {
      keepers.instead = fmt::format("memory of claims is kept by {}, not by kernel limits: {}",
                                    described(keeper.enforcer), why);
    }
    keepers.gpus.emplace(uuid, keeper);
  }
  return keepers;
}

GrantLimits enforced_by(GrantLimits limits, const ClaimKeepers& keepers, bool client) {
  for (auto& part : limits.devices) {
    if (part.memory) part.enforcer = keepers.of(part.uuid).enforcer;
    if (part.enforcer == MemoryEnforcer::kMps && !client) part.enforcer = MemoryEnforcer::kLimiter;
  }
  return limits;
}

bool computes_by_mps(const GrantLimits& limits, const ClaimKeepers& keepers, bool client) {
  return client && std::ranges::none_of(limits.devices, [&](const DeviceLimits& part) {
           return keepers.of(part.uuid).turns;
         });
}

GrantLimits side_by_side(GrantLimits limits) {
  limits.priority = Priority::kLatencyCritical;
  for (auto& part : limits.devices) part.permille.reset();
  return limits;
}

GrantLimits kept_by(GrantLimits limits, const ClaimKeepers& keepers, bool client) {
  auto kept = enforced_by(std::move(limits), keepers, client);
  return computes_by_mps(kept, keepers, client) ? side_by_side(std::move(kept)) : kept;
}

}  // namespace tranche::offer
