#pragma once
// Why a Pod waits for GPUs where MIG is the reason: the nodes that take it have their GPUs in other
// instances than it asks for. Pure: from the API server's objects.

#include <optional>
#include <string>
#include <vector>

#include "cluster/node.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::mig {

// Whether the Pod is such that explain_waiting() may have a reason: the scheduler found no node for
// it, and it asks for NVIDIA's GPUs or MIG instances.
bool waits_for_gpus(const cluster::SnapshotPod& pod);

// What it asks for that no node has, what nodes in another MIG layout offer instead, and what to
// do. nullopt: MIG is not the reason, or not known to be. So it is where
//   a node that takes the Pod has enough of each resource, though others hold it now
//   the layout of such a node is being changed
//   the Pod asks for GPUs and no such node has MIG instances, or for instances and none has MIG
// `nodes`: all of the cluster.
std::optional<std::string> explain_waiting(const cluster::SnapshotPod& pod,
                                           const std::vector<cluster::Node>& nodes);

}  // namespace tranche::mig
