#pragma once
// What is shown of a node whose agent does not say who uses what: the GPUs and containers that its
// GPUNode has. Nothing of them is measured. Pure.

#include "cluster/formats/gpu_node.h"
#include "usage/node_usage.h"

namespace tranche::fleet {

usage::NodeUsage view_of(const cluster::GpuNode& node);

}  // namespace tranche::fleet
