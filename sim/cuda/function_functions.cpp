// Functions: their attributes, and how many blocks of them fit.

#include <algorithm>

#include "sim/cuda/launch.h"
#include "sim/cuda/modules.h"

namespace tranche::sim::cuda {
namespace {

template <class Answer>
CUresult on_function(const char* name, CUfunction handle, bool arguments_given, Answer answer) {
  return on_context(name, arguments_given, [&](Call& call, Context& context) {
    const FunctionPtr function = function_of(call, handle);
    return function ? answer(*function, context.device) : CUDA_ERROR_INVALID_HANDLE;
  });
}

constexpr std::uint64_t kRegisters = 32;  // of a thread; invented, see attribute_of()

// May this attribute be set to this value?
bool can_set(const Device& device, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return value >= 0 && value <= device.limits.shared_per_block;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return value >= -1 && value <= 100;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return device.limits.capability >= 90;
    default:
      return false;
  }
}

CUresult potential_block_size(const char* name, int* grid, int* block, CUfunction handle,
                              CUoccupancyB2DSize shared_of, std::size_t shared, int most) {
  return on_function(name, handle, given(grid, block), [&](Function& function, Device& device) {
    const int limit =
        std::min(most > 0 ? most : kThreadsPerBlock, static_cast<int>(function.entry.most_threads));
    int best_threads = 0;
    for (int threads = limit / kWarp * kWarp; threads > 0; threads -= kWarp) {
      const std::size_t bytes = shared_of == nullptr ? shared : shared_of(threads);
      const int blocks = blocks_per_sm(function, device, threads, bytes);
      if (blocks * threads <= best_threads) continue;
      best_threads = blocks * threads;
      *block = threads;
      *grid = blocks * static_cast<int>(device.sm_count);
    }
    return best_threads > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult active_blocks(const char* name, int* count, CUfunction handle, int threads,
                       std::size_t shared) {
  const bool arguments = given(count) && threads > 0;
  return on_function(name, handle, arguments, [&](Function& function, Device& device) {
    *count = blocks_per_sm(function, device, threads, shared);
    return CUDA_SUCCESS;
  });
}

}  // namespace

int blocks_per_sm(const Function& function, const Device& device, int threads,
                  std::size_t dynamic_shared) {
  if (threads > kThreadsPerBlock) return 0;
  const int whole = (threads + kWarp - 1) / kWarp * kWarp;
  const std::size_t reserved = device.limits.capability >= 80 ? kReservedShared : 0;
  const std::size_t shared = function.entry.shared_bytes + dynamic_shared + reserved;
  int blocks = std::min(device.limits.blocks_per_sm, device.limits.threads_per_sm / whole);
  blocks = std::min(blocks, kRegistersPerSm / (whole * static_cast<int>(kRegisters)));
  if (shared > 0) {
    const auto fit = static_cast<std::size_t>(device.limits.shared_per_sm) / shared;
    blocks = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(blocks), fit));
  }
  return blocks;
}

CUDA_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute,
                                     CUfunction handle) {
  return on_function(__func__, handle, given(value), [&](Function& function, Device& device) {
    const auto found = attribute_of(function, device, attribute);
    if (!found) return CUDA_ERROR_INVALID_VALUE;
    *value = *found;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return on_function(__func__, handle, true, [&](Function& function, Device& device) {
    if (!can_set(device, attribute, value)) return CUDA_ERROR_INVALID_VALUE;
    function.settings[attribute] = value;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuFuncGetParamInfo(CUfunction handle, std::size_t index, std::size_t* offset,
                                     std::size_t* size) {
  return on_function(__func__, handle, given(offset), [&](Function& function, Device&) {
    if (index >= function.entry.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = function.entry.parameters[index].offset;
    if (size != nullptr) *size = function.entry.parameters[index].size;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuFuncLoad(CUfunction handle) {
  return on_function(__func__, handle, true, [&](Function& function, Device&) {
    function.is_loaded = true;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
  return on_function(__func__, handle, given(state), [&](Function& function, Device&) {
    *state =
        function.is_loaded ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, CUfunction handle,
                                                              int threads, std::size_t shared) {
  return active_blocks(__func__, count, handle, threads, shared);
}
CUDA_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of, std::size_t shared,
                                                   int most) {
  return potential_block_size(__func__, grid, block, handle, shared_of, shared, most);
}

}  // namespace tranche::sim::cuda
