#pragma once
// Conversion between the interface's node parameters and the work that they describe.

#include "sim/cuda/graph.h"
#include "sim/cuda/library.h"

namespace tranche::sim::cuda {

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v1& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_HOST_NODE_PARAMS_v1& parameters, Work& out);

// Pointers in the result are valid as long as the node.
CUDA_KERNEL_NODE_PARAMS_v2 parameters_of(KernelWork& kernel);
CUDA_KERNEL_NODE_PARAMS_v1 old_parameters_of(KernelWork& kernel);

}  // namespace tranche::sim::cuda
