#pragma once
// The manager of MIG layouts, with --mig-manager.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts mig_parts(const AgentContext& context);

}  // namespace tranche::agent
