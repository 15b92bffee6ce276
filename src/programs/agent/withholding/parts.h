#pragma once
// What containers hold in another way than it is offered now.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts withholding_parts(const AgentContext& context);

}  // namespace tranche::agent
