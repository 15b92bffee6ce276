// cuMemAlloc and its kin: device memory of the current context.

#include <algorithm>

#include "sim/cuda/capture.h"
#include "sim/cuda/constant.h"
#include "sim/cuda/memory.h"
#include "sim/cuda/pools.h"
#include "sim/gpu/memory.h"
#include "sim/gpu/memory_limits.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::size_t kPitch = 512;  // bytes; rows begin at multiples

}  // namespace

CUresult allocate(Call& call, Context& context, std::size_t size, RangeKind kind,
                  CUdeviceptr& out) {
  auto piece = context.heap.take(size);
  if (!piece) {
    // What the pools keep for later goes first.
    release_all_unused(call.driver);
    piece = context.heap.take(size);
  }
  if (!piece) return CUDA_ERROR_OUT_OF_MEMORY;
  out = piece->address;
  call.driver.space->add({.base = piece->address,
                          .size = size,
                          .kind = kind,
                          .device = &context.device,
                          .context = call.driver.contexts.find(context.number),
                          .piece = *std::move(piece)});
  return CUDA_SUCCESS;
}

CUresult free_address(Call& call, CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  const auto allocated = [&]() -> Range* {
    Range* const range = call.driver.space->find(address);
    const bool good = range != nullptr && range->base == address && !range->is_freed;
    return good ? range : nullptr;
  };
  Range* range = allocated();
  if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Running work keeps its memory; if it is freed elsewhere meanwhile, that counts.
  const ContextPtr owner = range->context.lock();
  const std::uint64_t id = range->id;
  if (const CUresult done = synchronize(call, owner ? *owner : *call.context);
      done != CUDA_SUCCESS) {
    return done;
  }
  range = allocated();
  if (range == nullptr || range->id != id) return CUDA_ERROR_INVALID_VALUE;
  switch (range->kind) {
    case RangeKind::kAllocated:
      if (owner) owner->heap.give(range->piece);
      break;
    case RangeKind::kPooled:
    case RangeKind::kGraph:
      give_to_pool(*range);
      break;
    case RangeKind::kExternal:
      call.driver.space->release(range->base, round_up(range->size, kPage));
      break;
    case RangeKind::kManaged:
      give_back_residence(call, *range);
      break;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  call.driver.space->erase(address);
  release_unused(call.driver);
  return CUDA_SUCCESS;
}

CUDA_API CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t size) {
  if (is_constant()) {
    *address = constant_address(size);
    return CUDA_SUCCESS;
  }
  return on_context(__func__, given(address) && size > 0, [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    return allocate(call, context, size, RangeKind::kAllocated, *address);
  });
}

CUDA_API CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                                     std::size_t height, unsigned element_bytes) {
  const bool arguments = given(address, pitch) && width > 0 && height > 0 &&
                         (element_bytes == 4 || element_bytes == 8 || element_bytes == 16);
  return on_context(__func__, arguments, [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    std::size_t size = 0;
    if (width > SIZE_MAX - kPitch ||
        __builtin_mul_overflow(round_up(width, kPitch), height, &size)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *pitch = round_up(width, kPitch);
    return allocate(call, context, size, RangeKind::kAllocated, *address);
  });
}

CUDA_API CUresult cuMemFree_v2(CUdeviceptr address) {
  if (is_constant()) return CUDA_SUCCESS;
  return on_context(__func__, true, [&](Call& call, Context&) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    return free_address(call, address);
  });
}

CUDA_API CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (is_constant()) {
    *free = *total = driver()->devices.front()->total_bytes;
    return CUDA_SUCCESS;
  }
  return on_context(__func__, true, [&](Call& call, Context& context) {
    const Device& device = context.device;
    const MemoryUse use =
        memory_use(*call.driver.sim, device.target.gpu, device.target.gpu_instance);
    const std::uint64_t taken = use.used + use.reserved;
    const std::uint64_t left = use.total - std::min(use.total, taken);
    const auto limits = device.target.gpu_instance == kNone
                            ? OwnLimits::look(*call.driver.sim, device.target.gpu)
                            : OwnLimits();
    const std::uint64_t room = limits.room(*call.driver.sim);
    if (free != nullptr) *free = std::min({left, device.room(), room});
    if (total != nullptr) {
      *total = limits.empty() ? device.total_bytes
                              : std::min(device.total_bytes, limits.nearest(*call.driver.sim).hard);
    }
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, std::size_t* size,
                                          CUdeviceptr address) {
  return on_context(__func__, true, [&](Call& call, Context&) {
    const Range* const range = call.driver.space->find(address);
    if (range == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = range->base;
    if (size != nullptr) *size = range->size;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
