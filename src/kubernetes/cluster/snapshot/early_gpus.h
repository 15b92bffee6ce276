#pragma once
// GPUs as the first files of snapshot/v1 have them, before there were GPUNodes: in `gpus` of an
// entry of `nodes`.

#include <optional>

#include "cluster/fields.h"
#include "cluster/formats/gpu_node.h"

namespace tranche::cluster {

// nullopt: the file does not say what GPUs the node has.
std::optional<GpuNode> read_early_gpus(const Fields& entry);

}  // namespace tranche::cluster
