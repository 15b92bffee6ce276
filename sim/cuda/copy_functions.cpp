// Copies of one range of bytes to another.

#include "sim/cuda/constant.h"
#include "sim/cuda/copies.h"

namespace tranche::sim::cuda {
namespace {

std::uint64_t copy_address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);  // NOLINT: addresses are numbers here
}

CUresult now(const char* function, DefaultStream zero, CUdeviceptr to, CUdeviceptr from,
             std::size_t bytes) {
  return on_stream(function, nullptr, zero, true, [&](Call& call, const StreamPtr& stream) {
    return copy_now(call, stream, linear_copy(to, from, bytes));
  });
}

CUresult later(const char* function, DefaultStream zero, CUdeviceptr to, CUdeviceptr from,
               std::size_t bytes, CUstream handle) {
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    return copy_later(call, stream, linear_copy(to, from, bytes));
  });
}

// Several copies, one after another; the permitted reordering is not used.
CUresult batch(const char* function, DefaultStream zero, const CUdeviceptr* to,
               const CUdeviceptr* from, const std::size_t* sizes, std::size_t count,
               std::size_t* failed, CUstream handle) {
  const bool arguments = given(to, from, sizes) && count > 0;
  return on_stream(function, handle, zero, arguments, [&](Call& call, const StreamPtr& stream) {
    for (std::size_t i = 0; i < count; ++i) {
      const CUresult done = copy_later(call, stream, linear_copy(to[i], from[i], sizes[i]));
      if (done == CUDA_SUCCESS) continue;
      if (failed != nullptr) *failed = i;
      return done;
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API_TWINS(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, std::size_t bytes),
               (to, from, bytes)) {
  return now(function, zero, to, from, bytes);
}
CUDA_API_TWINS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds,
               (CUdeviceptr to, const void* from, std::size_t bytes), (to, from, bytes)) {
  return now(function, zero, to, copy_address(from), bytes);
}
CUDA_API_TWINS(cuMemcpyDtoH_v2, cuMemcpyDtoH_v2_ptds,
               (void* to, CUdeviceptr from, std::size_t bytes), (to, from, bytes)) {
  return now(function, zero, copy_address(to), from, bytes);
}
CUDA_API_TWINS(cuMemcpyDtoD_v2, cuMemcpyDtoD_v2_ptds,
               (CUdeviceptr to, CUdeviceptr from, std::size_t bytes), (to, from, bytes)) {
  return now(function, zero, to, from, bytes);
}
CUDA_API_TWINS(cuMemcpyPeer, cuMemcpyPeer_ptds,
               (CUdeviceptr to, [[maybe_unused]] CUcontext to_context, CUdeviceptr from,
                [[maybe_unused]] CUcontext from_context, std::size_t bytes),
               (to, to_context, from, from_context, bytes)) {
  return now(function, zero, to, from, bytes);
}

CUDA_API_TWINS(cuMemcpyAsync, cuMemcpyAsync_ptsz,
               (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
               (to, from, bytes, stream)) {
  if (is_constant()) return CUDA_SUCCESS;
  return later(function, zero, to, from, bytes, stream);
}
CUDA_API_TWINS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz,
               (CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream),
               (to, from, bytes, stream)) {
  if (is_constant()) return CUDA_SUCCESS;
  return later(function, zero, to, copy_address(from), bytes, stream);
}
CUDA_API_TWINS(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync_v2_ptsz,
               (void* to, CUdeviceptr from, std::size_t bytes, CUstream stream),
               (to, from, bytes, stream)) {
  if (is_constant()) return CUDA_SUCCESS;
  return later(function, zero, copy_address(to), from, bytes, stream);
}
CUDA_API_TWINS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz,
               (CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream),
               (to, from, bytes, stream)) {
  if (is_constant()) return CUDA_SUCCESS;
  return later(function, zero, to, from, bytes, stream);
}
CUDA_API_TWINS(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz,
               (CUdeviceptr to, [[maybe_unused]] CUcontext to_context, CUdeviceptr from,
                [[maybe_unused]] CUcontext from_context, std::size_t bytes, CUstream stream),
               (to, to_context, from, from_context, bytes, stream)) {
  if (is_constant()) return CUDA_SUCCESS;
  return later(function, zero, to, from, bytes, stream);
}

CUDA_API_TWINS(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz,
               (CUdeviceptr * to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                [[maybe_unused]] CUmemcpyAttributes* attributes,
                [[maybe_unused]] std::size_t* indices, [[maybe_unused]] std::size_t count_of,
                std::size_t* failed, CUstream stream),
               (to, from, sizes, count, attributes, indices, count_of, failed, stream)) {
  return batch(function, zero, to, from, sizes, count, failed, stream);
}
CUDA_API_TWINS(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz,
               (CUdeviceptr * to, CUdeviceptr* from, std::size_t* sizes, std::size_t count,
                [[maybe_unused]] CUmemcpyAttributes* attributes,
                [[maybe_unused]] std::size_t* indices, [[maybe_unused]] std::size_t count_of,
                CUstream stream),
               (to, from, sizes, count, attributes, indices, count_of, stream)) {
  return batch(function, zero, to, from, sizes, count, nullptr, stream);
}
CUDA_API_TWINS(cuMemcpyWithAttributesAsync, cuMemcpyWithAttributesAsync_ptsz,
               (CUdeviceptr to, CUdeviceptr from, std::size_t bytes,
                [[maybe_unused]] CUmemcpyAttributes* attributes, CUstream stream),
               (to, from, bytes, attributes, stream)) {
  if (is_constant()) return CUDA_SUCCESS;
  return later(function, zero, to, from, bytes, stream);
}

}  // namespace tranche::sim::cuda
