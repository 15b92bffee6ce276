#include "offer/claim_enforcers.h"

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

GpuEnforcers ClaimEnforcers::of(const std::string& uuid) const {
  const auto found = gpus.find(uuid);
  return found == gpus.end() ? GpuEnforcers() : found->second;
}

bool ClaimEnforcers::wants_hook() const {
  return std::ranges::any_of(gpus, [](const auto& one) { return one.second.hook; });
}

bool is_shared_as_prepared(const holdings::Holding& holding, const ClaimEnforcers& enforcers) {
  return holding.mps == enforcers.of(holding.device).mps;
}

ClaimEnforcers claim_enforcers(const config::LimitTable& table, const gpu::Machine& machine,
                               const Offer& wished) {
  ClaimEnforcers enforcers;
  for (const auto& gpu : machine.gpus) {
    const auto& uuid = gpu.uuid.value;
    const auto* resource = resource_of(wished, uuid);
    const auto rules = rules_of(table, resource);
    const bool by_mps = resource != nullptr && mps_gpus(*resource).contains(uuid);
    const auto why =
        rules.wants_kernel() ? kernel_objection(machine, device_of(gpu, {})) : std::string();
    const GpuEnforcers on_gpu{
        .enforcer = choose_enforcer(rules, {.by_kernel = why.empty(), .by_mps = by_mps}),
        .mps = by_mps ? resource->name.value : std::string(),
        .turns = rules.policy == config::SharePolicy::kPriority,
        .hook = rules.runtime_hook};
    // Shares have no GPU that is in MIG mode.
    if (enforcers.instead.empty() && !why.empty() && !gpu.mig_enabled()) {
      enforcers.instead = fmt::format("memory of claims is kept by {}, not by kernel limits: {}",
                                      described(on_gpu.enforcer), why);
    }
    enforcers.gpus.emplace(uuid, on_gpu);
  }
  return enforcers;
}

GrantLimits enforced_by(GrantLimits limits, const ClaimEnforcers& enforcers, bool client) {
  for (auto& part : limits.devices) {
    if (part.memory) part.enforcer = enforcers.of(part.uuid).enforcer;
    if (part.enforcer == MemoryEnforcer::kMps && !client) part.enforcer = MemoryEnforcer::kLimiter;
  }
  return limits;
}

bool computes_by_mps(const GrantLimits& limits, const ClaimEnforcers& enforcers, bool client) {
  return client && std::ranges::none_of(limits.devices, [&](const DeviceLimits& part) {
           return enforcers.of(part.uuid).turns;
         });
}

GrantLimits side_by_side(GrantLimits limits) {
  limits.priority = Priority::kLatencyCritical;
  for (auto& part : limits.devices) part.permille.reset();
  return limits;
}

GrantLimits kept_by(GrantLimits limits, const ClaimEnforcers& enforcers, bool client) {
  auto kept = enforced_by(std::move(limits), enforcers, client);
  return computes_by_mps(kept, enforcers, client) ? side_by_side(std::move(kept)) : kept;
}

}  // namespace tranche::offer
