#pragma once
// Tells of incidents: refused memory, stalls, XIDs. See docs/incidents.md.

#include "agent/context/parts.h"

namespace tranche::agent {

Parts incidents_parts(const AgentContext& context);

}  // namespace tranche::agent
