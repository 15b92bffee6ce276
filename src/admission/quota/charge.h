#pragma once
// What of a GPU a ResourceClaim is charged, in thousandths, before the scheduler has chosen a
// device. The larger of memory and compute counts: nobody else can use what is left of the other.
// Of alternatives (firstAvailable) the dearest counts, as in Kubernetes' own quota.
//
// Memory is bytes, so how much of a GPU it is depends on the model: the dearest that has so much,
// unless the request names the model as our templates do (claim_template.h). Other selectors are
// not understood, and lower no charge. What names no amount is charged all. Pure; claims are
// written by tenants.

#include <cstdint>
#include <vector>

#include "admission/claim_template.h"
#include "admission/fleet.h"
#include "base/json.h"
#include "base/result.h"

namespace tranche::admission::quota {

inline constexpr std::int64_t kWhole = 1000;  // thousandths of a GPU

// 0: no request is of the class. kInvalidArgument: a field is of another kind than Kubernetes
// wants; or the claim asks for all devices, or for so many that no number holds them.
Result<std::int64_t> charge_of(json::View claim, const std::vector<DraModel>& models,
                               const ClaimOptions& options);

}  // namespace tranche::admission::quota
