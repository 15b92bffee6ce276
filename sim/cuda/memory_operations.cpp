// Words in memory that streams write and wait for.

#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {
namespace {

CUresult operate(const char* name, DefaultStream zero, CUstream handle,
                 std::vector<CUstreamBatchMemOpParams> operations) {
  return on_stream(name, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    return perform(call, stream, MemOpWork{std::move(operations)});
  });
}

CUresult operate_one(const char* name, DefaultStream zero, CUstream handle,
                     CUstreamBatchMemOpType operation, CUdeviceptr address, std::uint64_t value,
                     unsigned flags) {
  CUstreamBatchMemOpParams one = {};
  one.waitValue = {
      .operation = operation, .address = address, .value64 = value, .flags = flags, .alias = 0};
  return operate(name, zero, handle, {one});
}

CUresult batch(const char* name, DefaultStream zero, CUstream handle, unsigned count,
               const CUstreamBatchMemOpParams* operations, unsigned flags) {
  constexpr unsigned kMost = 256;
  if (operations == nullptr || count > kMost || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return operate(name, zero, handle, {operations, operations + count});
}

}  // namespace

#define MEMORY_OPERATION(name, twin, type, operation)                                            \
  CUDA_API_TWINS(name, twin, (CUstream stream, CUdeviceptr address, type value, unsigned flags), \
                 (stream, address, value, flags)) {                                              \
    return operate_one(function, zero, stream, operation, address, value, flags);                \
  }

MEMORY_OPERATION(cuStreamWaitValue32, cuStreamWaitValue32_ptsz, std::uint32_t,
                 CU_STREAM_MEM_OP_WAIT_VALUE_32)
MEMORY_OPERATION(cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz, std::uint32_t,
                 CU_STREAM_MEM_OP_WAIT_VALUE_32)
MEMORY_OPERATION(cuStreamWaitValue64, cuStreamWaitValue64_ptsz, std::uint64_t,
                 CU_STREAM_MEM_OP_WAIT_VALUE_64)
MEMORY_OPERATION(cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz, std::uint64_t,
                 CU_STREAM_MEM_OP_WAIT_VALUE_64)
MEMORY_OPERATION(cuStreamWriteValue32, cuStreamWriteValue32_ptsz, std::uint32_t,
                 CU_STREAM_MEM_OP_WRITE_VALUE_32)
MEMORY_OPERATION(cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz, std::uint32_t,
                 CU_STREAM_MEM_OP_WRITE_VALUE_32)
MEMORY_OPERATION(cuStreamWriteValue64, cuStreamWriteValue64_ptsz, std::uint64_t,
                 CU_STREAM_MEM_OP_WRITE_VALUE_64)
MEMORY_OPERATION(cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz, std::uint64_t,
                 CU_STREAM_MEM_OP_WRITE_VALUE_64)

CUDA_API_TWINS(cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz,
               (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations,
                unsigned flags),
               (stream, count, operations, flags)) {
  return batch(function, zero, stream, count, operations, flags);
}
CUDA_API_TWINS(cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz,
               (CUstream stream, unsigned count, CUstreamBatchMemOpParams* operations,
                unsigned flags),
               (stream, count, operations, flags)) {
  return batch(function, zero, stream, count, operations, flags);
}

}  // namespace tranche::sim::cuda
