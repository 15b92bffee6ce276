#pragma once
// Explains why a Pod waits for GPUs if MIG is the reason: the nodes that accept it have their GPUs
// partitioned into other instances than it requests. Pure: from the API server's objects.

#include <optional>
#include <string>
#include <vector>

#include "cluster/node.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::mig {

// Whether explain_waiting() may have a reason for the Pod: the scheduler found no node for it, and
// it requests NVIDIA GPUs or MIG instances.
bool waits_for_gpus(const cluster::SnapshotPod& pod);

// What it requests that no node has, what nodes in another MIG layout offer instead, and what to
// do. nullopt: MIG is not the reason, or not known to be. That is the case if
//   a node that accepts the Pod has enough of each resource, though others hold it now
//   the layout of such a node is being changed
//   the Pod requests GPUs and no such node has MIG instances, or instances and none has MIG
//   it requests replicas (nvidia.com/gpu.shared), which sharing makes and no layout
// `nodes`: all nodes of the cluster.
std::optional<std::string> explain_waiting(const cluster::SnapshotPod& pod,
                                           const std::vector<cluster::Node>& nodes);

}  // namespace tranche::mig
