#pragma once
// The tenants of the claims that are prepared on this node. Pure.

#include <string>
#include <vector>

#include "agent/limits/claim_tenant.h"
#include "dra/prepared.h"
#include "gpu/machine.h"

namespace tranche::agent {

std::vector<ClaimTenant> claim_tenants(const std::vector<dra::PreparedClaim>& claims,
                                       const gpu::Machine& machine, const std::string& driver);

}  // namespace tranche::agent
