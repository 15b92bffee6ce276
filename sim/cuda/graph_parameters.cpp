#include "sim/cuda/graph_parameters.h"

#include "sim/cuda/launch.h"

namespace tranche::sim::cuda {

CUresult work_of(Call& call, const CUDA_KERNEL_NODE_PARAMS_v2& p, Work& out) {
  const CUfunction handle =
      p.func != nullptr ? p.func : reinterpret_cast<CUfunction>(p.kern);  // NOLINT: as in a launch
  const FunctionPtr function = function_of(call, handle);
  const LaunchShape shape{.grid = {p.gridDimX, p.gridDimY, p.gridDimZ},
                          .block = {p.blockDimX, p.blockDimY, p.blockDimZ},
                          .shared_bytes = p.sharedMemBytes};
  KernelWork kernel;
  const CUresult made = make_kernel(call, function, shape, p.kernelParams, p.extra, kernel);
  kernel.kernel = call.driver.kernels.find(handle);
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
  // A node of a library's kernel reports that one, and no function.
  const bool is_kernel = kernel.kernel != nullptr;
  const ContextPtr context = kernel.function->context.lock();
  return {.func = is_kernel ? nullptr : handle_of<CUfunction>(*kernel.function),
          .gridDimX = kernel.grid.x,
          .gridDimY = kernel.grid.y,
          .gridDimZ = kernel.grid.z,
          .blockDimX = kernel.block.x,
          .blockDimY = kernel.block.y,
          .blockDimZ = kernel.block.z,
          .sharedMemBytes = kernel.shared_bytes,
          .kernelParams = kernel.pointers.empty() ? nullptr : kernel.pointers.data(),
          .extra = nullptr,
          .kern = is_kernel ? handle_of<CUkernel>(*kernel.kernel) : nullptr,
          .ctx = is_kernel && context ? handle_of<CUcontext>(*context) : nullptr};
}

CUDA_KERNEL_NODE_PARAMS_v1 old_parameters_of(KernelWork& kernel) {
  const auto p = parameters_of(kernel);
  return {.func = handle_of<CUfunction>(*kernel.function),
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
