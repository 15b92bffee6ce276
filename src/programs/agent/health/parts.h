#pragma once
// The health of the GPUs, told on the Node, its Events and those of Pods.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts health_parts(const AgentContext& context);

}  // namespace tranche::agent
