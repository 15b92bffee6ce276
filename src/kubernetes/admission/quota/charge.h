#pragma once
// What a ResourceClaim is charged, in billionths of a GPU, before the scheduler has chosen a
// device. The larger of memory and compute counts: nobody else can use the rest. Of alternatives
// (firstAvailable) the most expensive counts, as in Kubernetes' own quota.
//
// Memory is in bytes, so its part of a GPU depends on the model: the most expensive that has
// enough, unless the request names the model as our templates do (claim_template.h). The part is
// whole Mi of the model's Mi, rounded down to billionths: parts that fill a GPU are charged no more
// than one. Parts that exceed it by a single Mi are charged more, as long as there are fewer than a
// billion divided by the GPU's Mi, which is more than a ledger holds (3390 of 288Gi).
//
// Other selectors are ignored and lower no charge. A request without an amount, or with a capacity
// of another name, is charged as a whole GPU. Pure; claims are written by tenants.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admission/claim_template.h"
#include "admission/fleet.h"
#include "base/json.h"
#include "base/result.h"

namespace tranche::admission::quota {

inline constexpr std::int64_t kWhole = 1'000'000'000;  // billionths of a GPU

struct ChargeOptions {
  ClaimOptions claim = {};
  // DeviceClasses whose claims are charged. Not those that Kubernetes serves as nvidia.com/gpu:
  // Kubernetes charges them.
  std::vector<std::string> classes = {claim.device_class};
};

// Whether a claim's text may name one of the classes; charge_of() finds out whether it does.
bool may_name_a_class(std::string_view claim, const std::vector<std::string>& classes);

// 0: no request is of the classes. kInvalidArgument: a field has another type than in Kubernetes;
// or the claim requests all devices, or so many that the number overflows.
Result<std::int64_t> charge_of(json::View claim, const std::vector<DraModel>& models,
                               const ChargeOptions& options);

}  // namespace tranche::admission::quota
