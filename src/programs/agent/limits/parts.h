#pragma once
// Limits of containers: what they need on the host, and what the arbiter finds.

#include <memory>

#include "agent/context/parts.h"
#include "agent/limits/tenant_manager.h"

namespace tranche::agent {

// The service context.tenants. null: grants cannot be stored.
std::unique_ptr<TenantManager> make_tenants(const AgentContext& context);

Parts limits_parts(const AgentContext& context);

}  // namespace tranche::agent
