#pragma once
// NVIDIA's own clients of the GPUs (DCGM, its exporter, ...), which the GPU operator runs as
// DaemonSets, placed by labels of the Node. While a layout is changed the labels are paused, as by
// NVIDIA's MIG manager, and the DaemonSets' Pods end. Pure.

#include <string>
#include <vector>

#include "agent/node/node_writer.h"
#include "cluster/node.h"
#include "cluster/pod.h"

namespace tranche::agent {

// NVIDIA's MIG manager writes it in place of "true".
inline constexpr const char* kPausedForMig = "paused-for-mig-change";

// Labels by which this agent's own Pod is placed are excluded: pausing one would end the agent.
using OwnSelector = cluster::StringMap;

// Adds to `labels` what must be written to pause or resume them.
void pause_clients(bool pause, const cluster::Node& node, const OwnSelector& own,
                   NodeWriter::Values& labels);

// Whether the Node has any of the labels, so that their Pods may be on it.
bool has_clients(const cluster::Node& node);

// "gpu-operator/nvidia-dcgm-x7f2" of each Pod that a pause ends and that still exists: a Pod of a
// DaemonSet with the label in its node selector.
std::vector<std::string> clients_left(const std::vector<cluster::Pod>& pods,
                                      const OwnSelector& own);

}  // namespace tranche::agent
