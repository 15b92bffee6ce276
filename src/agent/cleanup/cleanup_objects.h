#pragma once
// The part of a cleanup that the API server holds: what this node's agent wrote there. Each removes
// only what is ours and says what it removed; nothing where there is nothing.

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::agent {

// Labels on the Node, by server-side apply of none: the API server knows which were ours.
Result<std::vector<std::string>> clear_node_labels(cluster::Objects& objects,
                                                   const std::string& node,
                                                   const std::stop_token& stop);

// The NodeFeature nvidia-features-for-<node>. NVIDIA's feature discovery writes one of the same
// name: one that names no writer of ours (metadata.managedFields) stays.
Result<std::vector<std::string>> clear_node_feature(cluster::Objects& objects,
                                                    const std::string& ns, const std::string& node,
                                                    const std::stop_token& stop);

// The condition TrancheConfigured, what the controller was asked to evict, and what became of
// limits that were set (the order itself is the operator's).
Result<std::vector<std::string>> clear_condition(cluster::Objects& objects, const std::string& node,
                                                 const std::stop_token& stop);

}  // namespace tranche::agent
