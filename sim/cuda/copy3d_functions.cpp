// Copies of rows and layers, and from and to arrays.

#include <cstring>

#include "sim/cuda/arrays.h"
#include "sim/cuda/copies.h"

namespace tranche::sim::cuda {
namespace {

template <class Parameters>
CUresult now(const char* function, DefaultStream zero, const Parameters* parameters) {
  return on_stream(function, nullptr, zero, given(parameters),
                   [&](Call& call, const StreamPtr& stream) {
                     CopyWork copy;
                     const CUresult described = describe(call, *parameters, copy);
                     if (described != CUDA_SUCCESS) return described;
                     return copy_now(call, stream, copy);
                   });
}

template <class Parameters>
CUresult later(const char* function, DefaultStream zero, const Parameters* parameters,
               CUstream handle) {
  return on_stream(function, handle, zero, given(parameters),
                   [&](Call& call, const StreamPtr& stream) {
                     CopyWork copy;
                     const CUresult described = describe(call, *parameters, copy);
                     if (described != CUDA_SUCCESS) return described;
                     return copy_later(call, stream, std::move(copy));
                   });
}

// The contexts of a peer copy say nothing that the addresses do not.
CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER& peer) {
  static_assert(sizeof(CUDA_MEMCPY3D) == sizeof(CUDA_MEMCPY3D_PEER));
  CUDA_MEMCPY3D plain = {};
  std::memcpy(static_cast<void*>(&plain), &peer, sizeof plain);
  return plain;
}

// One end of a copy of bytes: `offset` of an array, or an address.
struct End {
  CUarray array = nullptr;
  std::size_t offset = 0;
  CUdeviceptr address = 0;
  const void* host = nullptr;
};

CUresult copy_row(Call& call, const StreamPtr& stream, const End& to, const End& from,
                  std::size_t bytes, bool wait) {
  const auto type = [](const End& end) {
    if (end.array != nullptr) return CU_MEMORYTYPE_ARRAY;
    return end.host != nullptr ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  };
  const CUDA_MEMCPY3D parameters = {.srcXInBytes = from.offset,
                                    .srcMemoryType = type(from),
                                    .srcHost = from.host,
                                    .srcDevice = from.address,
                                    .srcArray = from.array,
                                    .dstXInBytes = to.offset,
                                    .dstMemoryType = type(to),
                                    .dstHost = const_cast<void*>(to.host),  // NOLINT: as it came
                                    .dstDevice = to.address,
                                    .dstArray = to.array,
                                    .WidthInBytes = bytes,
                                    .Height = 1,
                                    .Depth = 1};
  CopyWork copy;
  const CUresult described = describe(call, parameters, copy);
  if (described != CUDA_SUCCESS) return described;
  return wait ? copy_now(call, stream, copy) : copy_later(call, stream, std::move(copy));
}

CUresult row(const char* function, DefaultStream zero, const End& to, const End& from,
             std::size_t bytes) {
  return on_stream(function, nullptr, zero, true, [&](Call& call, const StreamPtr& stream) {
    return copy_row(call, stream, to, from, bytes, true);
  });
}
CUresult row_later(const char* function, DefaultStream zero, const End& to, const End& from,
                   std::size_t bytes, CUstream handle) {
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    return copy_row(call, stream, to, from, bytes, false);
  });
}

}  // namespace

CUDA_API_TWINS(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D* copy), (copy)) {
  return now(function, zero, copy);
}
CUDA_API_TWINS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, (const CUDA_MEMCPY2D* copy),
               (copy)) {
  return now(function, zero, copy);
}
CUDA_API_TWINS(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D* copy), (copy)) {
  return now(function, zero, copy);
}
CUDA_API_TWINS(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER* copy), (copy)) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D plain = without_contexts(*copy);
  return now(function, zero, &plain);
}
CUDA_API_TWINS(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz,
               (const CUDA_MEMCPY2D* copy, CUstream stream), (copy, stream)) {
  return later(function, zero, copy, stream);
}
CUDA_API_TWINS(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz,
               (const CUDA_MEMCPY3D* copy, CUstream stream), (copy, stream)) {
  return later(function, zero, copy, stream);
}
CUDA_API_TWINS(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz,
               (const CUDA_MEMCPY3D_PEER* copy, CUstream stream), (copy, stream)) {
  if (copy == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_MEMCPY3D plain = without_contexts(*copy);
  return later(function, zero, &plain, stream);
}

CUDA_API_TWINS(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds,
               (CUarray to, std::size_t offset, CUdeviceptr from, std::size_t bytes),
               (to, offset, from, bytes)) {
  return row(function, zero, {.array = to, .offset = offset}, {.address = from}, bytes);
}
CUDA_API_TWINS(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds,
               (CUdeviceptr to, CUarray from, std::size_t offset, std::size_t bytes),
               (to, from, offset, bytes)) {
  return row(function, zero, {.address = to}, {.array = from, .offset = offset}, bytes);
}
CUDA_API_TWINS(cuMemcpyHtoA_v2, cuMemcpyHtoA_v2_ptds,
               (CUarray to, std::size_t offset, const void* from, std::size_t bytes),
               (to, offset, from, bytes)) {
  return row(function, zero, {.array = to, .offset = offset}, {.host = from}, bytes);
}
CUDA_API_TWINS(cuMemcpyAtoH_v2, cuMemcpyAtoH_v2_ptds,
               (void* to, CUarray from, std::size_t offset, std::size_t bytes),
               (to, from, offset, bytes)) {
  return row(function, zero, {.host = to}, {.array = from, .offset = offset}, bytes);
}
CUDA_API_TWINS(cuMemcpyAtoA_v2, cuMemcpyAtoA_v2_ptds,
               (CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset,
                std::size_t bytes),
               (to, to_offset, from, from_offset, bytes)) {
  return row(function, zero, {.array = to, .offset = to_offset},
             {.array = from, .offset = from_offset}, bytes);
}
CUDA_API_TWINS(cuMemcpyHtoAAsync_v2, cuMemcpyHtoAAsync_v2_ptsz,
               (CUarray to, std::size_t offset, const void* from, std::size_t bytes,
                CUstream stream),
               (to, offset, from, bytes, stream)) {
  return row_later(function, zero, {.array = to, .offset = offset}, {.host = from}, bytes, stream);
}
CUDA_API_TWINS(cuMemcpyAtoHAsync_v2, cuMemcpyAtoHAsync_v2_ptsz,
               (void* to, CUarray from, std::size_t offset, std::size_t bytes, CUstream stream),
               (to, from, offset, bytes, stream)) {
  return row_later(function, zero, {.host = to}, {.array = from, .offset = offset}, bytes, stream);
}

}  // namespace tranche::sim::cuda
