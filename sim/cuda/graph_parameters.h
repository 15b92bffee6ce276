#pragma once
// Node parameters as the interface has them, and the work they describe: there and back.

#include "sim/cuda/graph.h"
#include "sim/cuda/library.h"

namespace tranche::sim::cuda {

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v1& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_HOST_NODE_PARAMS_v1& parameters, Work& out);

// Pointers in what is given back are good as long as the node.
CUDA_KERNEL_NODE_PARAMS_v2 parameters_of(KernelWork& kernel);
CUDA_KERNEL_NODE_PARAMS_v1 old_parameters_of(KernelWork& kernel);

}  // namespace tranche::sim::cuda
