// What can be set in a context and told of it. Nothing of this changes how the simulation runs.

#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

constexpr int kLowestPriority = 0;
constexpr int kHighestPriority = -5;

}  // namespace

int clamp_priority(int priority) { return std::clamp(priority, kHighestPriority, kLowestPriority); }

CUDA_API CUresult cuCtxGetFlags(unsigned* flags) {
  return on_context(__func__, given(flags), [&](Call&, Context& context) {
    *flags = context.flags;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuCtxSetFlags(unsigned flags) {
  return on_context(__func__, flags <= CU_CTX_FLAGS_MASK, [&](Call&, Context& context) {
    context.flags = flags;
    return CUDA_SUCCESS;
  });
}

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

CUDA_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config) {
  return on_context(__func__, given(config), [&](Call&, Context& context) {
    *config = static_cast<CUfunc_cache>(context.cache_config);
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return on_context(__func__, config <= CU_FUNC_CACHE_PREFER_EQUAL, [&](Call&, Context& context) {
    context.cache_config = config;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return on_context(__func__, given(config), [&](Call&, Context&) {
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuCtxSetSharedMemConfig(CUsharedconfig) {
  return on_context(__func__, true, [&](Call&, Context&) { return CUDA_SUCCESS; });
}
CUDA_API CUresult cuCtxResetPersistingL2Cache() {
  return on_context(__func__, true, [&](Call&, Context&) { return CUDA_SUCCESS; });
}

CUDA_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return on_context(__func__, true, [&](Call&, Context&) {
    if (least != nullptr) *least = kLowestPriority;
    if (greatest != nullptr) *greatest = kHighestPriority;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuCtxGetExecAffinity(CUexecAffinityParam* affinity, CUexecAffinityType type) {
  return on_context(__func__, given(affinity), [&](Call& call, Context& context) {
    if (type != CU_EXEC_AFFINITY_TYPE_SM_COUNT || !call.driver.mps.is_client()) {
      return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    }
    *affinity = {.type = type, .param = {.smCount = {context.sm_count}}};
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
