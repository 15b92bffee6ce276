// The functions about memory pools and allocation in stream order.

#include <cstring>

#include "sim/cuda/capture.h"
#include "sim/cuda/constant.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/pools.h"

namespace tranche::sim::cuda {
namespace {

CUresult allocate_async(Call& call, const PoolPtr& pool, const StreamPtr& stream, std::size_t size,
                        CUdeviceptr* out) {
  if (size == 0) return CUDA_ERROR_INVALID_VALUE;
  if (stream->capture) {
    if (pool->is_host) return CUDA_ERROR_NOT_SUPPORTED;
    AllocWork work;
    work.parameters.poolProps = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = pool->device.ordinal}};
    work.parameters.bytesize = size;
    return capture_allocation(call, stream, std::move(work), *out);
  }
  return allocate_from(call, pool, stream, size, *out);
}

// Attributes are 32 or 64 bits wide, by kind.
template <class T>
CUresult put_value(T value, void* out) {
  std::memcpy(out, &value, sizeof value);
  return CUDA_SUCCESS;
}

std::uint64_t read_word(const void* value) {
  std::uint64_t word = 0;
  std::memcpy(&word, value, sizeof word);
  return word;
}
bool read_flag(const void* value) {
  int flag = 0;
  std::memcpy(&flag, value, sizeof flag);
  return flag != 0;
}

// A call about a pool.
template <class Function>
CUresult on_pool(const char* function, CUmemoryPool handle, bool arguments_given, Function answer) {
  return on_driver(function, arguments_given, [&](Call& call) {
    const PoolPtr pool = call.driver.pools.find(handle);
    return pool ? answer(call, pool) : CUDA_ERROR_INVALID_VALUE;
  });
}

bool is_of_host(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ||
         (location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location.id >= 0);
}

CUresult pool_of(const char* function, CUmemoryPool* out, const CUmemLocation* location,
                 CUmemAllocationType type) {
  const bool arguments = given(out, location) && type == CU_MEM_ALLOCATION_TYPE_PINNED &&
                         (ordinal_of(*location) >= 0 || is_of_host(*location));
  return on_driver(function, arguments, [&](Call& call) {
    if (is_of_host(*location)) {
      *out = handle_of<CUmemoryPool>(*default_host_pool(call.driver, *location));
      return CUDA_SUCCESS;
    }
    Device* const device = call.driver.device(ordinal_of(*location));
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *out = handle_of<CUmemoryPool>(*default_pool(call.driver, *device));
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUDA_API_TWINS(cuMemAllocAsync, cuMemAllocAsync_ptsz,
               (CUdeviceptr * out, std::size_t size, CUstream handle), (out, size, handle)) {
  if (is_constant()) {
    *out = constant_address(size);
    return CUDA_SUCCESS;
  }
  return on_stream(function, handle, zero, given(out), [&](Call& call, const StreamPtr& stream) {
    Device& device = stream->context.lock()->device;
    return allocate_async(call, default_pool(call.driver, device), stream, size, out);
  });
}
CUDA_API_TWINS(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz,
               (CUdeviceptr * out, std::size_t size, CUmemoryPool pool_handle, CUstream handle),
               (out, size, pool_handle, handle)) {
  return on_stream(function, handle, zero, given(out), [&](Call& call, const StreamPtr& stream) {
    const PoolPtr pool = call.driver.pools.find(pool_handle);
    if (!pool) return CUDA_ERROR_INVALID_VALUE;
    return allocate_async(call, pool, stream, size, out);
  });
}
CUDA_API_TWINS(cuMemFreeAsync, cuMemFreeAsync_ptsz, (CUdeviceptr address, CUstream handle),
               (address, handle)) {
  if (is_constant()) return CUDA_SUCCESS;
  return on_stream(function, handle, zero, address != 0, [&](Call& call, const StreamPtr& stream) {
    return perform(call, stream, FreeWork{address});
  });
}

CUDA_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(out), [&](Call& call, Device& device) {
    *out = handle_of<CUmemoryPool>(*default_pool(call.driver, device));
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuDeviceGetMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(out), [&](Call& call, Device& device) {
    *out = handle_of<CUmemoryPool>(*default_pool(call.driver, device));
    return CUDA_SUCCESS;
  });
}

// The location's default pool; it cannot be replaced here.
CUDA_API CUresult cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location,
                                         CUmemAllocationType type) {
  return pool_of(__func__, out, location, type);
}
CUDA_API CUresult cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location,
                                  CUmemAllocationType type) {
  return pool_of(__func__, out, location, type);
}

// Pools cannot be shared between processes here, and have no managed memory.
CUDA_API CUresult cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* wanted) {
  const bool arguments = given(out, wanted) && wanted->allocType == CU_MEM_ALLOCATION_TYPE_PINNED &&
                         (ordinal_of(wanted->location) >= 0 || is_of_host(wanted->location));
  return on_driver(__func__, arguments, [&](Call& call) {
    if (wanted->handleTypes != CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_NOT_SUPPORTED;
    const bool is_host = is_of_host(wanted->location);
    Device* const device = call.driver.device(is_host ? 0 : ordinal_of(wanted->location));
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    auto pool = std::make_shared<Pool>(*device, *call.driver.space);
    pool->is_host = is_host;
    pool->most_bytes = wanted->maxSize;
    *out = handle_of<CUmemoryPool>(*call.driver.pools.add(std::move(pool)));
    return CUDA_SUCCESS;
  });
}

// Allocations live on until they are freed.
CUDA_API CUresult cuMemPoolDestroy(CUmemoryPool handle) {
  return on_pool(__func__, handle, true, [&](Call& call, const PoolPtr& pool) {
    if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
    pool->heap.trim(0);
    call.driver.pools.erase(*pool);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemPoolTrimTo(CUmemoryPool handle, std::size_t keep) {
  return on_pool(__func__, handle, true, [&](Call& call, const PoolPtr& pool) {
    call.driver.executor.pump(call.lock);
    pool->heap.trim(keep);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute,
                                        void* out) {
  return on_pool(__func__, handle, given(out), [&](Call& call, const PoolPtr& pool) {
    call.driver.executor.pump(call.lock);
    switch (attribute) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        return put_value(pool->reuses_after_events ? 1 : 0, out);
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        return put_value(pool->reuses_opportunistically ? 1 : 0, out);
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        return put_value(pool->reuses_with_dependencies ? 1 : 0, out);
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return put_value(pool->release_threshold, out);
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return put_value(pool->held(), out);
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return put_value(pool->reserved_high, out);
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return put_value(pool->used, out);
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return put_value(pool->used_high, out);
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

// The high marks can only be set to nothing.
CUDA_API CUresult cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute attribute,
                                        void* value) {
  return on_pool(__func__, handle, given(value), [&](Call&, const PoolPtr& pool) {
    switch (attribute) {
      case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
        pool->reuses_after_events = read_flag(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
        pool->reuses_opportunistically = read_flag(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
        pool->reuses_with_dependencies = read_flag(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        pool->release_threshold = read_word(value);
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        if (read_word(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        pool->reserved_high = pool->held();
        return CUDA_SUCCESS;
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        if (read_word(value) != 0) return CUDA_ERROR_INVALID_VALUE;
        pool->used_high = pool->used;
        return CUDA_SUCCESS;
      default:
        return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

}  // namespace tranche::sim::cuda
