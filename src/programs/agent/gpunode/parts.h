#pragma once
// The node's GPUNode, with --gpu-node.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts gpunode_parts(const AgentContext& context);

}  // namespace tranche::agent
