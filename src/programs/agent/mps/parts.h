#pragma once
// What MPS control daemons serve.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts mps_parts(const AgentContext& context);

}  // namespace tranche::agent
