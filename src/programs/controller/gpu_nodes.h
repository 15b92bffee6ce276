#pragma once
// The watch of all Nodes. Kubelets write their Nodes all the time, and the whole of a Node is a
// hundred times as long as what is read of it. So only this is kept: its name, its labels and
// allocatable resources of NVIDIA's and ours, and the condition TrancheServing.

#include "controller/shared_watches.h"

namespace tranche::controller {

Watched gpu_nodes();

}  // namespace tranche::controller
