#pragma once
// NVIDIA's own clients of the GPUs (DCGM, its exporter, ...), as the GPU operator runs them: a
// DaemonSet each, by a label of the Node. While a layout is changed the labels are paused, as
// NVIDIA's MIG manager does it, and the DaemonSets' Pods end. Pure.

#include <string>
#include <vector>

#include "agent/node/node_writer.h"
#include "cluster/node.h"
#include "cluster/pod.h"

namespace tranche::agent {

// As NVIDIA's MIG manager writes it, in the place of "true".
inline constexpr const char* kPausedForMig = "paused-for-mig-change";

// The labels that a Pod of this agent's own is placed by are none of theirs: without one it would
// end itself.
using OwnSelector = cluster::StringMap;

// Adds to `labels` what is to be written so that they are paused, or go on.
void pause_clients(bool pause, const cluster::Node& node, const OwnSelector& own,
                   NodeWriter::Values& labels);

// Whether the Node has any of the labels, so that Pods may be placed by them.
bool has_clients(const cluster::Node& node);

// "gpu-operator/nvidia-dcgm-x7f2" of each Pod that a pause ends and that is still there. Such a Pod
// has the label in its node selector, and a DaemonSet that takes it away.
std::vector<std::string> clients_left(const std::vector<cluster::Pod>& pods,
                                      const OwnSelector& own);

}  // namespace tranche::agent
