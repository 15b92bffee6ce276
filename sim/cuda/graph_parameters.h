#pragma once
// Node parameters as the interface has them, and the work they describe: there and back.

#include "sim/cuda/graph.h"
#include "sim/cuda/library.h"

namespace tranche::sim::cuda {

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v1& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_MEMCPY3D& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_MEMSET_NODE_PARAMS_v1& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_HOST_NODE_PARAMS_v1& parameters, Work& out);
CUresult work_of(Call& call, const CUDA_BATCH_MEM_OP_NODE_PARAMS& parameters, Work& out);
// Any of them. An allocation's address is written back.
CUresult work_of(Call& call, CUgraphNodeParams& parameters, Work& out);

// Pointers in what is given back are good as long as the node.
CUDA_KERNEL_NODE_PARAMS_v2 parameters_of(KernelWork& kernel);
CUDA_KERNEL_NODE_PARAMS_v1 old_parameters_of(KernelWork& kernel);
CUDA_MEMSET_NODE_PARAMS_v1 parameters_of(const SetWork& set);
CUDA_HOST_NODE_PARAMS_v1 parameters_of(const HostWork& host);

}  // namespace tranche::sim::cuda
