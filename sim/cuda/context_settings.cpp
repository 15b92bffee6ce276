// A context's limits and range of priorities. Nothing of this changes how the simulation runs.

#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

}  // namespace

int clamp_priority(int priority) { return std::clamp(priority, kHighestPriority, kLowestPriority); }

CUDA_API CUresult cuCtxSetLimit(CUlimit limit, std::size_t value) {
  return on_context(__func__, true, [&](Call&, Context& context) {
    if (limit >= context.limits.size()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
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
