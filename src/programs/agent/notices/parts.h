#pragma once
// Reports about each change of the offer.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts notices_parts(const AgentContext& context);

}  // namespace tranche::agent
