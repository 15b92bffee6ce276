#pragma once
// The mode of the node, where the agent serves claims.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts config_parts(const AgentContext& context);

}  // namespace tranche::agent
