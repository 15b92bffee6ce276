#pragma once
// The tenants of the claims that are prepared on this node. Pure.

#include <string>
#include <vector>

#include "agent/dra/claim_node.h"
#include "agent/limits/claim_tenant.h"
#include "dra/prepared.h"

namespace tranche::agent {

// Devices for monitoring (adminAccess) have no limits and are not listed as unlimited.
std::vector<ClaimTenant> claim_tenants(const std::vector<dra::PreparedClaim>& claims,
                                       const ClaimNode& node);

}  // namespace tranche::agent
