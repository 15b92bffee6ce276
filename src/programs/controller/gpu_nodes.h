#pragma once
// The watch of all Nodes. Kubelets write their Nodes all the time, and a Node is a hundred times as
// long as what we read of it. So only this is kept: its name, NVIDIA's and our labels and
// allocatable resources, and the condition TrancheServing.

#include "controller/shared_watches.h"

namespace tranche::controller {

Watched gpu_nodes();

}  // namespace tranche::controller
