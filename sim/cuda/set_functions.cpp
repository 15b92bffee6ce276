// Filling memory with a value.

#include "sim/cuda/capture.h"
#include "sim/cuda/copies.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

SetWork line(CUdeviceptr to, unsigned value, unsigned element, std::size_t count) {
  return {.address = to,
          .pitch = count * element,
          .value = value,
          .element_bytes = element,
          .width = count};
}
SetWork rows(CUdeviceptr to, std::size_t pitch, unsigned value, unsigned element, std::size_t width,
             std::size_t height) {
  return {.address = to,
          .pitch = pitch,
          .value = value,
          .element_bytes = element,
          .width = width,
          .height = height};
}

CUresult prepare(Call& call, const SetWork& set) {
  if (const CUresult good = check(call.driver, set); good != CUDA_SUCCESS) return good;
  if (Range* const range = call.driver.space->find(set.address)) {
    make_resident(call, call.context->device, *range, set.pitch * set.height);
  }
  return CUDA_SUCCESS;
}

CUresult now(const char* function, DefaultStream zero, const SetWork& set) {
  return on_stream(function, nullptr, zero, true, [&](Call& call, const StreamPtr& stream) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    if (const CUresult good = prepare(call, set); good != CUDA_SUCCESS) return good;
    OpPtr op;
    const CUresult queued = run(call, stream, set, &op);
    if (queued != CUDA_SUCCESS) return queued;
    call.driver.executor.wait(call.lock, [&] { return op->is_done(); });
    return CUDA_SUCCESS;
  });
}

CUresult later(const char* function, DefaultStream zero, const SetWork& set, CUstream handle) {
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    if (const CUresult good = prepare(call, set); good != CUDA_SUCCESS) return good;
    return perform(call, stream, set);
  });
}

}  // namespace

CUDA_API_TWINS(cuMemsetD8_v2, cuMemsetD8_v2_ptds,
               (CUdeviceptr to, unsigned char value, std::size_t count), (to, value, count)) {
  return now(function, zero, line(to, value, 1, count));
}
CUDA_API_TWINS(cuMemsetD16_v2, cuMemsetD16_v2_ptds,
               (CUdeviceptr to, unsigned short value, std::size_t count), (to, value, count)) {
  return now(function, zero, line(to, value, 2, count));
}
CUDA_API_TWINS(cuMemsetD32_v2, cuMemsetD32_v2_ptds,
               (CUdeviceptr to, unsigned value, std::size_t count), (to, value, count)) {
  return now(function, zero, line(to, value, 4, count));
}
CUDA_API_TWINS(cuMemsetD8Async, cuMemsetD8Async_ptsz,
               (CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream),
               (to, value, count, stream)) {
  return later(function, zero, line(to, value, 1, count), stream);
}
CUDA_API_TWINS(cuMemsetD16Async, cuMemsetD16Async_ptsz,
               (CUdeviceptr to, unsigned short value, std::size_t count, CUstream stream),
               (to, value, count, stream)) {
  return later(function, zero, line(to, value, 2, count), stream);
}
CUDA_API_TWINS(cuMemsetD32Async, cuMemsetD32Async_ptsz,
               (CUdeviceptr to, unsigned value, std::size_t count, CUstream stream),
               (to, value, count, stream)) {
  return later(function, zero, line(to, value, 4, count), stream);
}

CUDA_API_TWINS(cuMemsetD2D8_v2, cuMemsetD2D8_v2_ptds,
               (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                std::size_t height),
               (to, pitch, value, width, height)) {
  return now(function, zero, rows(to, pitch, value, 1, width, height));
}
CUDA_API_TWINS(cuMemsetD2D16_v2, cuMemsetD2D16_v2_ptds,
               (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                std::size_t height),
               (to, pitch, value, width, height)) {
  return now(function, zero, rows(to, pitch, value, 2, width, height));
}
CUDA_API_TWINS(cuMemsetD2D32_v2, cuMemsetD2D32_v2_ptds,
               (CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                std::size_t height),
               (to, pitch, value, width, height)) {
  return now(function, zero, rows(to, pitch, value, 4, width, height));
}
CUDA_API_TWINS(cuMemsetD2D8Async, cuMemsetD2D8Async_ptsz,
               (CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                std::size_t height, CUstream stream),
               (to, pitch, value, width, height, stream)) {
  return later(function, zero, rows(to, pitch, value, 1, width, height), stream);
}
CUDA_API_TWINS(cuMemsetD2D16Async, cuMemsetD2D16Async_ptsz,
               (CUdeviceptr to, std::size_t pitch, unsigned short value, std::size_t width,
                std::size_t height, CUstream stream),
               (to, pitch, value, width, height, stream)) {
  return later(function, zero, rows(to, pitch, value, 2, width, height), stream);
}
CUDA_API_TWINS(cuMemsetD2D32Async, cuMemsetD2D32Async_ptsz,
               (CUdeviceptr to, std::size_t pitch, unsigned value, std::size_t width,
                std::size_t height, CUstream stream),
               (to, pitch, value, width, height, stream)) {
  return later(function, zero, rows(to, pitch, value, 4, width, height), stream);
}

}  // namespace tranche::sim::cuda
