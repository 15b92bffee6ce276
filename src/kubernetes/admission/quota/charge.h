#pragma once
// What of a GPU a ResourceClaim is charged, in billionths, before the scheduler has chosen a
// device. The larger of memory and compute counts: nobody else can use what is left of the other.
// Of alternatives (firstAvailable) the dearest counts, as in Kubernetes' own quota.
//
// Memory is bytes, so how much of a GPU it is depends on the model: the dearest that has so much,
// unless the request names the model as our templates do (claim_template.h). It is whole Mi, as
// devices give it, of all the Mi that the model has, and what is no whole billionth is rounded
// down: so parts that are together no more than a GPU are charged no more than one. Parts that are
// a single Mi more are charged more than one, as long as there are fewer of them than a billion
// divided by the GPU's Mi, which are more than a ledger holds (3390 of 288Gi).
//
// Other selectors are not understood, and lower no charge. What names no amount is charged all, and
// so is what asks for a capacity by another name: nobody knows what it comes to. Pure; claims are
// written by tenants.

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
  // DeviceClasses whose claims are charged. One that Kubernetes serves by the name nvidia.com/gpu
  // is charged by Kubernetes, and is none of them.
  std::vector<std::string> classes = {claim.device_class};
};

// Whether the text of a claim may name one of the classes; whether a request of its does,
// charge_of() tells.
bool may_name_a_class(std::string_view claim, const std::vector<std::string>& classes);

// 0: no request is of the classes. kInvalidArgument: a field is of another kind than Kubernetes
// wants; or the claim asks for all devices, or for so many that no number holds them.
Result<std::int64_t> charge_of(json::View claim, const std::vector<DraModel>& models,
                               const ChargeOptions& options);

}  // namespace tranche::admission::quota
