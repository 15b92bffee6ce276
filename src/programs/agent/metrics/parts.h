#pragma once
// Metrics of the node's GPUs and of who uses them, with --metrics-address.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts metrics_parts(const AgentContext& context);

}  // namespace tranche::agent
