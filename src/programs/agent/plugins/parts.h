#pragma once
// Device plugins with their CDI files, and whether kubelet offers what they offer.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts plugins_parts(const AgentContext& context);

}  // namespace tranche::agent
