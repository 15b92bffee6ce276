// A context's limits and range of priorities. Limits cost memory; nothing else of this changes how
// the simulation runs.

#include "sim/cuda/context_settings.h"

#include <algorithm>

#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

// In force when a context begins, and part of its memory then.
const std::array<std::size_t, 3> kFirst = Context::kFirstSizes;

// Block by block: the current one is kept until the larger one exists.
CUresult grow(Context& context, CUlimit which, std::uint64_t bytes) {
  auto& held = context.grown[which];
  const std::uint64_t has = held ? held->size() : 0;
  if (bytes <= has) return CUDA_SUCCESS;
  const std::uint64_t wanted = round_up(bytes, kPage);
  auto more = wanted < bytes ? nullptr : Block::make(context.device, wanted, false);
  if (!more) return CUDA_ERROR_OUT_OF_MEMORY;
  held = std::move(more);
  return CUDA_SUCCESS;
}

std::uint64_t beyond(std::uint64_t size, std::uint64_t first) {
  return size > first ? size - first : 0;
}

// Each thread that the device can run at once has its part.
CUresult grow_stacks(Context& context, std::uint64_t bytes) {
  const Device& device = context.device;
  std::uint64_t sum = 0;
  const std::uint64_t threads =
      std::uint64_t{device.sm_count} * static_cast<std::uint64_t>(device.limits.threads_per_sm);
  if (__builtin_mul_overflow(beyond(bytes, kFirst[CU_LIMIT_STACK_SIZE]), threads, &sum)) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  return grow(context, CU_LIMIT_STACK_SIZE, sum);
}

}  // namespace

// Heap and buffer are made when a kernel runs that may use them; here every kernel may.
CUresult grow_for(Context& context, const Function& function) {
  CUresult grown = grow_stacks(context, function.entry.local_bytes);
  for (const CUlimit which : {CU_LIMIT_PRINTF_FIFO_SIZE, CU_LIMIT_MALLOC_HEAP_SIZE}) {
    if (grown != CUDA_SUCCESS) return grown;
    grown = grow(context, which, beyond(context.limits[which], kFirst[which]));
  }
  return grown;
}

int clamp_priority(int priority) { return std::clamp(priority, kHighestPriority, kLowestPriority); }

CUDA_API CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  return on_context(__func__, true, [&](Call&, Context& context) {
    if (limit >= context.limits.size()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    // The size of stacks is in force at once.
    if (limit == CU_LIMIT_STACK_SIZE) {
      if (const CUresult grown = grow_stacks(context, value); grown != CUDA_SUCCESS) return grown;
    }
    context.limits[limit] = value;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuCtxGetLimit(std::size_t* value, CUlimit limit) {
  return on_context(__func__, given(value), [&](Call&, Context& context) {
    if (limit >= context.limits.size()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = context.limits[limit];
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
