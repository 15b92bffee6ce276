#pragma once
// The health of the GPUs, reported in the Node's condition and in Events of the Node and of Pods.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts health_parts(const AgentContext& context);

}  // namespace tranche::agent
