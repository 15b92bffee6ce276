#pragma once
// Applies an operator's setting (cluster/formats/limit_settings.h) to a tenant's promise, and
// checks whether the result can be kept. Pure.

#include <cstdint>
#include <map>
#include <string>

#include "agent/limits/claim_tenant.h"
#include "base/result.h"
#include "cluster/formats/limit_settings.h"
#include "config/limits.h"
#include "limit/tenant_limits.h"
#include "offer/offer.h"

namespace tranche::agent {

// What a device promises to all tenants except the one of the setting: tenants that hold tranches,
// and tranches on offer, which kubelet may grant at any time.
struct PromisedElsewhere {
  Bytes memory;
  std::uint32_t permille = 0;
};

// Whether a setting may raise a promise: the operator's may, a Pod owner's may not.
enum class Raising { kAllowed, kRefused };

// kInvalidArgument: an impossible value, or a class under a policy other than `priority`.
// kFailedPrecondition: the resource has no limits, or the promise could not be kept. kPermission:
// it raises, and may not. Lowering is always possible. `elsewhere`: by device UUID.
Result<limit::TenantLimits> with_setting(const limit::TenantLimits& promised,
                                         const cluster::LimitSetting& setting,
                                         const offer::ResourceOffer& resource,
                                         const std::map<std::string, PromisedElsewhere>& elsewhere,
                                         Raising raising = Raising::kAllowed);

Result<limit::TenantLimits> promised_limits(const ClaimTenant& tenant);

// with_setting() for a claim's tenant. Nothing raises it above what the claim consumed (`most`):
// the scheduler has given the rest to others. A setting that may not raise also stays below the
// claim's configuration. kPermission: it exceeds that. kInvalidArgument: an impossible value, or a
// class, which claims do not have. kFailedPrecondition: the machine lacks the device, or the
// container is a client of MPS and was started with less.
Result<limit::TenantLimits> with_claim_setting(const ClaimTenant& tenant,
                                               const cluster::LimitSetting& setting,
                                               Raising raising);

}  // namespace tranche::agent
