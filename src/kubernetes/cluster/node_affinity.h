#pragma once
// The nodes allowed by a Pod's required node affinity
// (spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution). Pure values.

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/label_selector.h"
#include "cluster/node.h"

namespace tranche::cluster {

// All of its conditions must hold; without conditions it selects no node, as in Kubernetes.
struct NodeSelectorTerm {
  std::vector<SelectorExpression> labels;  // also "Gt", "Lt"
  std::vector<SelectorExpression> fields;  // only metadata.name
  bool operator==(const NodeSelectorTerm&) const = default;
};

// At least one of the terms holds.
using NodeSelector = std::vector<NodeSelectorTerm>;

bool selects(const NodeSelector& selector, const Node& node);

// From the JSON text of spec.affinity; empty text, or nothing required: nullopt.
Result<std::optional<NodeSelector>> read_required_nodes(std::string_view affinity);

}  // namespace tranche::cluster
