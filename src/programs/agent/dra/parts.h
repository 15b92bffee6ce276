#pragma once
// The driver of claims: with --dra all of it, otherwise until earlier claims have ended.

#include <memory>

#include "agent/context/parts.h"
#include "agent/dra/claim_service.h"

namespace tranche::agent {

// The service context.claims; never null.
std::unique_ptr<ClaimService> make_claims(const AgentContext& context);

Parts dra_parts(const AgentContext& context);

}  // namespace tranche::agent
