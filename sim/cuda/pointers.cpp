// What is known of an address.

#include <cstring>

#include "sim/cuda/memory.h"
#include "sim/cuda/pools.h"

namespace tranche::sim::cuda {
namespace {

template <class T>
CUresult put(const T& value, void* out) {
  std::memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}

bool is_device_memory(const Range& range) { return range.host == nullptr; }

// INVALID_VALUE for attributes that this kind of memory lacks.
CUresult attribute(const Range& range, CUpointer_attribute which, CUdeviceptr address, void* out) {
  const ContextPtr context = range.context.lock();
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return put(context ? handle_of<CUcontext>(*context) : nullptr, out);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return put(range.is_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE, out);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return put(address, out);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return is_device_memory(range) ? CUDA_ERROR_INVALID_VALUE : put(address, out);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return put(range.id, out);
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return put(range.kind == RangeKind::kManaged ? 1U : 0U, out);
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(range.device->ordinal, out);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return put(range.kind == RangeKind::kAllocated ? 1U : 0U, out);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return put(range.base, out);
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return put(range.size, out);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return put(1U, out);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return put(range.piece.block && range.piece.block->file() >= 0 ? std::uint64_t{1} : 0, out);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return put(0U, out);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(range.access, out);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(range.pool ? handle_of<CUmemoryPool>(*range.pool) : nullptr, out);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// How wide the answer is, for addresses of which nothing is known: then it is all zero.
std::size_t width_of(CUpointer_attribute which) {
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return 4;
    default:
      return 8;
  }
}

}  // namespace

CUDA_API CUresult cuPointerGetAttribute(void* out, CUpointer_attribute which, CUdeviceptr address) {
  return on_driver(__func__, given(out), [&](Call& call) {
    const Range* const range = call.driver.space->find(address);
    return range == nullptr ? CUDA_ERROR_INVALID_VALUE : attribute(*range, which, address, out);
  });
}

// What is not known is left at nothing; the device of an unknown address is -2.
CUDA_API CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* which, void** out,
                                         CUdeviceptr address) {
  return on_driver(__func__, count == 0 || given(which, out), [&](Call& call) {
    const Range* const range = call.driver.space->find(address);
    for (unsigned i = 0; i < count; ++i) {
      if (out[i] == nullptr) continue;
      std::memset(out[i], 0, width_of(which[i]));
      if (range != nullptr) {
        std::ignore = attribute(*range, which[i], address, out[i]);
      } else if (which[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
        put(-2, out[i]);
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
