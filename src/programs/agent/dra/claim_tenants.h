#pragma once
// What the claims that are prepared on this node come to. Pure.

#include <string>
#include <vector>

#include "agent/dra/claim_node.h"
#include "agent/limits/claim_tenant.h"
#include "dra/prepared.h"

namespace tranche::agent {

// Devices for monitoring (adminAccess) have neither limits nor a place among those without.
std::vector<ClaimTenant> claim_tenants(const std::vector<dra::PreparedClaim>& claims,
                                       const ClaimNode& node);

}  // namespace tranche::agent
