#include "sim/cuda/graph_parameters.h"

#include "sim/cuda/copies.h"
#include "sim/cuda/events.h"
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

CUresult work_of(Call& call, const CUDA_MEMCPY3D& parameters, Work& out) {
  CopyWork copy;
  const CUresult described = describe(call, parameters, copy);
  if (described == CUDA_SUCCESS) out = std::move(copy);
  return described;
}

CUresult work_of(Call&, const CUDA_MEMSET_NODE_PARAMS_v1& p, Work& out) {
  const bool good = (p.elementSize == 1 || p.elementSize == 2 || p.elementSize == 4) &&
                    p.width > 0 && p.height > 0;
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  out = SetWork{.address = p.dst,
                .pitch = p.pitch,
                .value = p.value,
                .element_bytes = p.elementSize,
                .width = p.width,
                .height = p.height};
  return CUDA_SUCCESS;
}

CUresult work_of(Call&, const CUDA_HOST_NODE_PARAMS_v1& p, Work& out) {
  if (p.fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = HostWork{.function = p.fn, .data = p.userData};
  return CUDA_SUCCESS;
}

CUresult work_of(Call&, const CUDA_BATCH_MEM_OP_NODE_PARAMS& p, Work& out) {
  if (p.paramArray == nullptr && p.count > 0) return CUDA_ERROR_INVALID_VALUE;
  out = MemOpWork{{p.paramArray, p.paramArray + p.count}};
  return CUDA_SUCCESS;
}

CUresult work_of(Call& call, CUgraphNodeParams& p, Work& out) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return work_of(call, p.kernel, out);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return work_of(call, p.memcpy.copyParams, out);
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return work_of(
          call,
          CUDA_MEMSET_NODE_PARAMS_v1{p.memset.dst, p.memset.pitch, p.memset.value,
                                     p.memset.elementSize, p.memset.width, p.memset.height},
          out);
    case CU_GRAPH_NODE_TYPE_HOST:
      return work_of(call, CUDA_HOST_NODE_PARAMS_v1{p.host.fn, p.host.userData}, out);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return work_of(call, p.memOp, out);
    case CU_GRAPH_NODE_TYPE_EMPTY:
      out = EmptyWork{};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      out = FreeWork{p.free.dptr};
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const GraphPtr child = call.driver.graphs.find(p.graph.graph);
      if (!child) return CUDA_ERROR_INVALID_VALUE;
      out = ChildWork{clone_graph(call, *child)};
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: {
      const EventPtr event = call.driver.events.find(p.eventWait.event);
      if (!event) return CUDA_ERROR_INVALID_VALUE;
      if (p.type == CU_GRAPH_NODE_TYPE_WAIT_EVENT) {
        out = WaitWork{.event = event, .is_external = true};
      } else {
        out = RecordWork{.event = event, .is_external = true};
      }
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      AllocWork allocation{.parameters = p.alloc};
      const CUresult reserved = reserve_graph_memory(call, allocation);
      if (reserved != CUDA_SUCCESS) return reserved;
      p.alloc.dptr = allocation.parameters.dptr;
      out = std::move(allocation);
      return CUDA_SUCCESS;
    }
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
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

CUDA_MEMSET_NODE_PARAMS_v1 parameters_of(const SetWork& set) {
  return {.dst = set.address,
          .pitch = set.pitch,
          .value = set.value,
          .elementSize = set.element_bytes,
          .width = set.width,
          .height = set.height};
}

CUDA_HOST_NODE_PARAMS_v1 parameters_of(const HostWork& host) {
  return {.fn = host.function, .userData = host.data};
}

}  // namespace tranche::sim::cuda
