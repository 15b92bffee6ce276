#pragma once
// The labels about resources: nvidia.com/gpu.* and, with MIG strategy mixed, nvidia.com/mig-*.*.

#include <vector>

#include "config/config.h"
#include "gpu/machine.h"
#include "labels/label_set.h"

namespace tranche::labels {

// Adds them to `set`. `gpus`: those that count, in index order, not empty.
void add_resource_labels(const std::vector<gpu::Gpu>& gpus, const config::Config& config,
                         LabelSet& set);

}  // namespace tranche::labels
