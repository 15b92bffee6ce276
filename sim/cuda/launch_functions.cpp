// The functions that launch kernels and host functions.

#include <cstring>

#include "sim/cuda/constant.h"
#include "sim/cuda/events.h"
#include "sim/cuda/launch.h"

namespace tranche::sim::cuda {
namespace {

CUresult launch(const char* name, DefaultStream zero, CUfunction handle, CUstream stream_handle,
                const LaunchShape& shape, void** parameters, void** extra) {
  return on_stream(name, stream_handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    if (stream->context.lock() != call.context) return CUDA_ERROR_INVALID_HANDLE;
    KernelWork kernel;
    const FunctionPtr function = function_of(call, handle);
    const CUresult made = make_kernel(call, function, shape, parameters, extra, kernel);
    if (made != CUDA_SUCCESS) return made;
    kernel.kernel = call.driver.kernels.find(handle);
    return perform(call, stream, std::move(kernel));
  });
}

// An attribute that names an event records it after the kernel.
CUresult record_of(const CUlaunchConfig& config, const char* name, DefaultStream zero) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT &&
        attribute.id != CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
      continue;
    }
    CUevent handle = nullptr;
    std::memcpy(&handle, attribute.value.pad, sizeof handle);
    const CUresult recorded =
        on_stream(name, config.hStream, zero, true, [&](Call& call, const StreamPtr& stream) {
          const EventPtr event = call.driver.events.find(handle);
          if (!event) return CUDA_ERROR_INVALID_HANDLE;
          return perform(call, stream, RecordWork{event});
        });
    if (recorded != CUDA_SUCCESS) return recorded;
  }
  return CUDA_SUCCESS;
}

CUresult launch_ex(const char* name, DefaultStream zero, const CUlaunchConfig* config,
                   CUfunction handle, void** parameters, void** extra) {
  if (config == nullptr || (config->numAttrs > 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  LaunchShape shape{.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                    .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                    .shared_bytes = config->sharedMemBytes,
                    .cluster = cluster_of(*config)};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id >= kLaunchAttributes) return CUDA_ERROR_INVALID_VALUE;
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_COOPERATIVE) continue;
    int value = 0;
    std::memcpy(&value, config->attrs[i].value.pad, sizeof value);
    shape.is_cooperative = value != 0;
  }
  const CUresult done = launch(name, zero, handle, config->hStream, shape, parameters, extra);
  return done == CUDA_SUCCESS ? record_of(*config, name, zero) : done;
}

// The launch functions of CUDA 3: shape and parameters were set in the function before.
CUresult launch_set(const char* name, CUfunction handle, int width, int height, CUstream stream) {
  LaunchShape shape{.grid = {static_cast<unsigned>(width), static_cast<unsigned>(height), 1}};
  std::vector<std::byte> parameters;
  const CUresult found = on_context(name, width > 0 && height > 0, [&](Call& call, Context&) {
    const FunctionPtr function = function_of(call, handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    const auto& block = function->block_shape;
    shape.block = {static_cast<unsigned>(block[0]), static_cast<unsigned>(block[1]),
                   static_cast<unsigned>(block[2])};
    shape.shared_bytes = function->shared_size;
    parameters = function->parameters;
    return CUDA_SUCCESS;
  });
  if (found != CUDA_SUCCESS) return found;
  std::size_t size = parameters.size();
  void* extra[] = {reinterpret_cast<void*>(1), parameters.data(),  // NOLINT: keys are numbers
                   reinterpret_cast<void*>(2), &size, nullptr};    // NOLINT
  return launch(name, DefaultStream::kLegacy, handle, stream, shape, nullptr, extra);
}

CUresult set_parameter(const char* name, CUfunction handle, int offset, const void* bytes,
                       std::size_t count) {
  return on_context(name, given(bytes) && offset >= 0, [&](Call& call, Context&) {
    const FunctionPtr function = function_of(call, handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    const auto begin = static_cast<std::size_t>(offset);
    if (function->parameters.size() < begin + count) function->parameters.resize(begin + count);
    std::memcpy(function->parameters.data() + begin, bytes, count);
    return CUDA_SUCCESS;
  });
}

CUresult host_function(const char* name, DefaultStream zero, CUstream handle, HostWork work) {
  return on_stream(name, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    work.stream = handle;
    return perform(call, stream, work);
  });
}

}  // namespace

CUDA_API_TWINS(cuLaunchKernel, cuLaunchKernel_ptsz,
               (CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                CUstream stream, void** parameters, void** extra),
               (kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                parameters, extra)) {
  if (is_constant()) return CUDA_SUCCESS;
  const LaunchShape shape{.grid = {grid_x, grid_y, grid_z},
                          .block = {block_x, block_y, block_z},
                          .shared_bytes = shared_bytes};
  return launch(function, zero, kernel, stream, shape, parameters, extra);
}

CUDA_API_TWINS(cuLaunchKernelEx, cuLaunchKernelEx_ptsz,
               (const CUlaunchConfig* config, CUfunction kernel, void** parameters, void** extra),
               (config, kernel, parameters, extra)) {
  if (is_constant()) return CUDA_SUCCESS;
  return launch_ex(function, zero, config, kernel, parameters, extra);
}

CUDA_API_TWINS(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz,
               (CUfunction kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                CUstream stream, void** parameters),
               (kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
                parameters)) {
  if (is_constant()) return CUDA_SUCCESS;
  const LaunchShape shape{.grid = {grid_x, grid_y, grid_z},
                          .block = {block_x, block_y, block_z},
                          .shared_bytes = shared_bytes,
                          .is_cooperative = true};
  return launch(function, zero, kernel, stream, shape, parameters, nullptr);
}

CUDA_API CUresult cuLaunch(CUfunction kernel) {
  return launch_set(__func__, kernel, 1, 1, nullptr);
}
CUDA_API CUresult cuLaunchGrid(CUfunction kernel, int width, int height) {
  return launch_set(__func__, kernel, width, height, nullptr);
}
CUDA_API CUresult cuLaunchGridAsync(CUfunction kernel, int width, int height, CUstream stream) {
  return launch_set(__func__, kernel, width, height, stream);
}
CUDA_API CUresult cuParamSetv(CUfunction kernel, int offset, void* bytes, unsigned count) {
  return set_parameter(__func__, kernel, offset, bytes, count);
}
CUDA_API CUresult cuParamSetSize(CUfunction handle, unsigned bytes) {
  return on_context(__func__, true, [&](Call& call, Context&) {
    const FunctionPtr function = function_of(call, handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    function->parameters.resize(bytes);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuFuncSetBlockShape(CUfunction handle, int x, int y, int z) {
  return on_context(__func__, x > 0 && y > 0 && z > 0, [&](Call& call, Context&) {
    const FunctionPtr function = function_of(call, handle);
    if (!function) return CUDA_ERROR_INVALID_HANDLE;
    function->block_shape = {x, y, z};
    return CUDA_SUCCESS;
  });
}

CUDA_API_TWINS(cuLaunchHostFunc, cuLaunchHostFunc_ptsz,
               (CUstream stream, CUhostFn called, void* data), (stream, called, data)) {
  if (called == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return host_function(function, zero, stream, {.function = called, .data = data});
}
CUDA_API_TWINS(cuLaunchHostFunc_v2, cuLaunchHostFunc_v2_ptsz,
               (CUstream stream, CUhostFn called, void* data, [[maybe_unused]] unsigned mode),
               (stream, called, data, mode)) {
  if (called == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return host_function(function, zero, stream, {.function = called, .data = data});
}
CUDA_API_TWINS(cuStreamAddCallback, cuStreamAddCallback_ptsz,
               (CUstream stream, CUstreamCallback called, void* data, unsigned flags),
               (stream, called, data, flags)) {
  if (called == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return host_function(function, zero, stream, {.data = data, .callback = called});
}

}  // namespace tranche::sim::cuda
