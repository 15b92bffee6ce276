// Words in memory that streams write and wait for.

#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

CUresult operate(const char* name, DefaultStream zero, CUstream handle,
                 const MemOpWork& operation) {
  return on_stream(name, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    return perform(call, stream, operation);
  });
}

}  // namespace

#define MEMORY_OPERATION(name, twin, is_wait)                                                 \
  CUDA_API_TWINS(name, twin,                                                                  \
                 (CUstream stream, CUdeviceptr address, std::uint32_t value, unsigned flags), \
                 (stream, address, value, flags)) {                                           \
    return operate(function, zero, stream, {is_wait, address, value, flags});                 \
  }

MEMORY_OPERATION(cuStreamWaitValue32, cuStreamWaitValue32_ptsz, true)
MEMORY_OPERATION(cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz, true)
MEMORY_OPERATION(cuStreamWriteValue32, cuStreamWriteValue32_ptsz, false)
MEMORY_OPERATION(cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz, false)

}  // namespace tranche::sim::cuda
