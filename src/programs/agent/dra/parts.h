#pragma once
// The driver of claims, with --dra.

#include <memory>

#include "agent/context/parts.h"
#include "agent/dra/claim_service.h"

namespace tranche::agent {

// The service context.claims. null: nobody serves claims here, and none is held.
std::unique_ptr<ClaimService> make_claims(const AgentContext& context);

Parts dra_parts(const AgentContext& context);

}  // namespace tranche::agent
