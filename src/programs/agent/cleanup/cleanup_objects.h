#pragma once
// Removes what this node's agent wrote to the API server, and nothing else. Each function returns
// what it removed, which may be nothing.

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::agent {

// Removes our labels from the Node by applying none (server-side apply): the API server knows which
// are ours.
Result<std::vector<std::string>> clear_node_labels(cluster::Objects& objects,
                                                   const std::string& node,
                                                   const std::stop_token& stop);

// Removes the NodeFeature nvidia-features-for-<node>, unless it lacks a writer of ours
// (metadata.managedFields): NVIDIA's feature discovery uses the same name.
Result<std::vector<std::string>> clear_node_feature(cluster::Objects& objects,
                                                    const std::string& ns, const std::string& node,
                                                    const std::stop_token& stop);

Result<std::vector<std::string>> clear_gpu_node(cluster::Objects& objects, const std::string& node,
                                                const std::stop_token& stop);

// Removes our conditions of the Node, the requests for evictions, and the outcome of limits that
// were set. The order of limits is the operator's and stays.
Result<std::vector<std::string>> clear_condition(cluster::Objects& objects, const std::string& node,
                                                 const std::stop_token& stop);

}  // namespace tranche::agent
