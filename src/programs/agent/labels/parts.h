#pragma once
// Feature labels.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts labels_parts(const AgentContext& context);

}  // namespace tranche::agent
