#pragma once
// Whether claims can be prepared at the same time: a device, a whole GPU, or a place on it belongs
// to one claim, once. Shares may not add up to more than the GPU. Pure.

#include <vector>

#include "base/result.h"
#include "dra/prepared.h"
#include "gpu/machine.h"

namespace tranche::dra {

// Within the claim. The scheduler gives out nothing twice, so such a status is forged:
// kInvalidArgument.
Result<void> check_adds_up(const PreparedClaim& claim, const gpu::Machine& machine);

// An error names the conflicting claim (kFailedPrecondition). The same claim never conflicts with
// itself.
Result<void> check_conflicts(const PreparedClaim& wanted,
                             const std::vector<PreparedClaim>& prepared,
                             const gpu::Machine& machine);

}  // namespace tranche::dra
