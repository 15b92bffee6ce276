#include "sim/cuda/graph_parameters.h"

#include "sim/cuda/launch.h"

namespace tranche::sim::cuda {

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& p, Work& out) {
  FunctionPtr function = function_of(call, p.func);
  if (!function && p.kern != nullptr) {
    const KernelPtr kernel = call.driver.kernels.find(p.kern);
    if (kernel) std::ignore = function_of(call, *kernel, function);
  }
  const LaunchShape shape{.grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
                          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
                          .shared_bytes = p.sharedMemBytes};
  KernelWork kernel;
  const CUresult made = make_kernel(call, function, shape, p.kernelParams, p.extra, kernel);
  if (made == CUDA_SUCCESS) out = std::move(kernel);
  return made;
}

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v1& p, Work& out) {
  return work_of(call,
                 CUDA_KERNEL_NODE_PARAMS_v2{.func = p.func,
                                            .gridDimX = p.gridDimX,
                                            .gridDimY = p.gridDimY,
                                            .gridDimZ = p.gridDimZ,
                                            .blockDimX = p.blockDimX,
                                            .blockDimY = p.blockDimY,
                                            .blockDimZ = p.blockDimZ,
                                            .sharedMemBytes = p.sharedMemBytes,
                                            .kernelParams = p.kernelParams,
                                            .extra = p.extra},
                 out);
}

CUresult work_of(Call&, const CUDA_HOST_NODE_PARAMS_v1& p, Work& out) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = HostWork{.function = p.fn, .data = p.userData};
  return CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS_v2 parameters_of(KernelWork& kernel) {
  kernel.pointers.clear();
  for (const PtxParameter& parameter : kernel.function->entry.parameters) {
    if (parameter.offset >= kernel.parameters.size()) break;
    kernel.pointers.push_back(kernel.parameters.data() + parameter.offset);
  }
  return {.func = handle_of<CUfunction>(*kernel.function),
          .gridDimX = kernel.grid.x,
          .gridDimY = kernel.grid.y,
          .gridDimZ = kernel.grid.z,
          .blockDimX = kernel.block.x,
          .blockDimY = kernel.block.y,
          .blockDimZ = kernel.block.z,
          .sharedMemBytes = kernel.shared_bytes,
          .kernelParams = kernel.pointers.empty() ? nullptr : kernel.pointers.data()};
}

CUDA_KERNEL_NODE_PARAMS_v1 old_parameters_of(KernelWork& kernel) {
  const auto p = parameters_of(kernel);
  return {.func = p.func,
          .gridDimX = p.gridDimX,
          .gridDimY = p.gridDimY,
          .gridDimZ = p.gridDimZ,
          .blockDimX = p.blockDimX,
          .blockDimY = p.blockDimY,
          .blockDimZ = p.blockDimZ,
          .sharedMemBytes = p.sharedMemBytes,
          .kernelParams = p.kernelParams};
}

}  // namespace tranche::sim::cuda
