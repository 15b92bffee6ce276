#pragma once
// Which GPUTier tranches, and Pods, are of. Where several tiers fit, none is named: nothing says
// which it is. Pure.

#include <map>
#include <string>

#include "cluster/formats/gpu_tier.h"
#include "fleet/facts.h"

namespace tranche::fleet {

// The one tier that lists the node, and whose Pods request the resource; empty: none, or several.
std::string tier_of_node(const Facts& facts, const NodeFacts& node, const std::string& resource);

// The one tier in which the Pod can be: it requests the tier's resource in a namespace that may use
// it, has its priority class, and is on its nodes if it is bound.
std::string tier_of_pod(const Facts& facts, const PodFacts& pod, const std::string& resource);

}  // namespace tranche::fleet
