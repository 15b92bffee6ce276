#pragma once
// Feature labels.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts label_parts(const AgentContext& context);

}  // namespace tranche::agent
