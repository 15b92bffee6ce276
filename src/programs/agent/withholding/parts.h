#pragma once
// What containers hold differently from the present offer.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts withholding_parts(const AgentContext& context);

}  // namespace tranche::agent
