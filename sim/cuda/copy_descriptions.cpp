// The structures that describe copies of rows and layers, in the library's terms.

#include "sim/cuda/arrays.h"
#include "sim/cuda/copies.h"

namespace tranche::sim::cuda {
namespace {

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);  // NOLINT: addresses are numbers here
}

CUresult side_of(Call& call, CUmemorytype type, const void* host, CUdeviceptr device, CUarray array,
                 CopySide& side) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      side.address = address_of(host);
      side.is_host = true;
      return CUDA_SUCCESS;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
      side.address = device;
      return CUDA_SUCCESS;
    case CU_MEMORYTYPE_ARRAY:
      side.array = call.driver.arrays.find(array);
      return side.array ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUDA_MEMCPY3D widen(const CUDA_MEMCPY2D& flat) {
  return {.srcXInBytes = flat.srcXInBytes,
          .srcY = flat.srcY,
          .srcMemoryType = flat.srcMemoryType,
          .srcHost = flat.srcHost,
          .srcDevice = flat.srcDevice,
          .srcArray = flat.srcArray,
          .srcPitch = flat.srcPitch,
          .srcHeight = flat.srcY + flat.Height,
          .dstXInBytes = flat.dstXInBytes,
          .dstY = flat.dstY,
          .dstMemoryType = flat.dstMemoryType,
          .dstHost = flat.dstHost,
          .dstDevice = flat.dstDevice,
          .dstArray = flat.dstArray,
          .dstPitch = flat.dstPitch,
          .dstHeight = flat.dstY + flat.Height,
          .WidthInBytes = flat.WidthInBytes,
          .Height = flat.Height,
          .Depth = 1};
}

}  // namespace

CUresult describe(Call& call, const CUDA_MEMCPY3D& p, CopyWork& out) {
  out = {};
  const CUresult source =
      side_of(call, p.srcMemoryType, p.srcHost, p.srcDevice, p.srcArray, out.source);
  if (source != CUDA_SUCCESS) return source;
  const CUresult destination =
      side_of(call, p.dstMemoryType, p.dstHost, p.dstDevice, p.dstArray, out.destination);
  if (destination != CUDA_SUCCESS) return destination;
  out.width = p.WidthInBytes;
  out.height = p.Height;
  out.depth = p.Depth;
  // A pitch of nothing means rows without gaps.
  const auto place = [&](CopySide& side, std::size_t x, std::size_t y, std::size_t z,
                         std::size_t pitch, std::size_t height) {
    side.x_bytes = x;
    side.y = y;
    side.z = z;
    side.pitch = pitch == 0 ? p.WidthInBytes : pitch;
    side.height = height == 0 ? p.Height : height;
  };
  place(out.source, p.srcXInBytes, p.srcY, p.srcZ, p.srcPitch, p.srcHeight);
  place(out.destination, p.dstXInBytes, p.dstY, p.dstZ, p.dstPitch, p.dstHeight);
  return CUDA_SUCCESS;
}

CUresult describe(Call& call, const CUDA_MEMCPY2D& parameters, CopyWork& out) {
  return describe(call, widen(parameters), out);
}

}  // namespace tranche::sim::cuda
