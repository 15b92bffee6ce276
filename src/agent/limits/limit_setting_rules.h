#pragma once
// What a setting of the operator's (cluster/limit_settings.h) makes of what a tenant was promised,
// and whether that can be kept. Pure.

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "cluster/limit_settings.h"
#include "config/limits.h"
#include "limit/tenant_limits.h"
#include "offer/offer.h"

namespace tranche::agent {

// Of one device, to all but the tenant that the setting is about: to those that hold tranches of
// it, and by the tranches that are still on offer, for kubelet may grant them at any time.
struct PromisedElsewhere {
  Bytes memory;
  std::uint32_t permille = 0;
};

// Whose word it is: the operator's, or that of whoever owns the Pod (annotations), who may only
// lower.
enum class Raising { kAllowed, kRefused };

// kInvalidArgument: a value that cannot be one, or a class under another policy than `priority`;
// kFailedPrecondition: the resource has no limits, or the promise could not be kept; kPermission:
// it raises, and may not. Lowering always can be. `elsewhere`: by the device's uuid.
Result<limit::TenantLimits> with_setting(const limit::TenantLimits& promised,
                                         const cluster::LimitSetting& setting,
                                         const offer::ResourceOffer& resource,
                                         const std::map<std::string, PromisedElsewhere>& elsewhere,
                                         Raising raising = Raising::kAllowed);

// What is wrong with the values alone, as the command says it before it writes; fine: nothing.
Result<void> check_values(const cluster::LimitSetting& setting);

}  // namespace tranche::agent
