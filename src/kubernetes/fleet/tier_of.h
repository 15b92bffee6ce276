#pragma once
// Which GPUTier tranches, and Pods, are of, by the facts of a cluster: cluster/formats/tier_match.h
// decides. Empty: none, or several. Pure.

#include <string>

#include "fleet/facts.h"
#include "fleet/node_count.h"

namespace tranche::fleet {

// Of a kind of tranches on the node.
std::string tier_of_node(const Facts& facts, const NodeFacts& node, const NodeTranches& kind);

// Of the Pod, for one resource that it requests.
std::string tier_of_pod(const Facts& facts, const PodFacts& pod, const std::string& resource);

}  // namespace tranche::fleet
