#pragma once
// The nodes that a Pod's required node affinity lets it run on
// (spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution). Pure values.

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/label_selector.h"
#include "cluster/node.h"

namespace tranche::cluster {

// All of its conditions hold; one without conditions selects no node, as in Kubernetes.
struct NodeSelectorTerm {
  std::vector<SelectorExpression> labels;  // also "Gt", "Lt"
  std::vector<SelectorExpression> fields;  // metadata.name alone
  bool operator==(const NodeSelectorTerm&) const = default;
};

// One of the terms holds.
using NodeSelector = std::vector<NodeSelectorTerm>;

bool selects(const NodeSelector& selector, const Node& node);

// From the JSON text of spec.affinity; empty text, or nothing required: nullopt.
Result<std::optional<NodeSelector>> read_required_nodes(std::string_view affinity);

}  // namespace tranche::cluster
