// Page-locked host memory. It takes no GPU memory. Copies from and to it are asynchronous to the
// caller; those of ordinary memory are not.

#include <sys/mman.h>

#include "sim/cuda/capture.h"
#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

constexpr std::size_t kHostPage = 4096;
constexpr unsigned kAllocFlags =
    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
constexpr unsigned kRegisterFlags =
    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;

std::uint64_t host_address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);  // NOLINT: addresses are numbers here
}

CUresult allocate_host(const char* function, void** out, std::size_t size, unsigned flags) {
  const bool arguments = given(out) && size > 0 && (flags & ~kAllocFlags) == 0;
  return on_context(function, arguments, [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    auto memory = map_host(size);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = memory.get();
    call.driver.space->add({.base = host_address(memory.get()),
                            .size = size,
                            .kind = RangeKind::kHost,
                            .device = &context.device,
                            .context = call.context,
                            .host = static_cast<std::byte*>(memory.get()),
                            .owned = std::move(memory),
                            .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP});
    return CUDA_SUCCESS;
  });
}

CUresult register_host(const char* function, void* memory, std::size_t size, unsigned flags) {
  const bool arguments = given(memory) && size > 0 && (flags & ~kRegisterFlags) == 0;
  return on_context(function, arguments, [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    if (call.driver.space->has_any(host_address(memory), size)) {
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    call.driver.space->add({.base = host_address(memory),
                            .size = size,
                            .kind = RangeKind::kRegistered,
                            .device = &context.device,
                            .context = call.context,
                            .host = static_cast<std::byte*>(memory),
                            .flags = flags | CU_MEMHOSTALLOC_DEVICEMAP,
                            .access = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0 ? 1U : 3U});
    return CUDA_SUCCESS;
  });
}

// The range that begins at `pointer` and is of `kind`.
Range* range_at(Call& call, const void* pointer, RangeKind kind) {
  Range* const range = call.driver.space->find(host_address(pointer));
  const bool same = range != nullptr && range->base == host_address(pointer) && range->kind == kind;
  return same ? range : nullptr;
}

}  // namespace

std::shared_ptr<void> map_host(std::size_t size) {
  const std::size_t whole = round_up(size, kHostPage);
  void* const memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  return {memory, [whole](void* mapped) { ::munmap(mapped, whole); }};
}

CUDA_API CUresult cuMemHostAlloc(void** out, std::size_t size, unsigned flags) {
  return allocate_host(__func__, out, size, flags);
}

CUDA_API CUresult cuMemFreeHost(void* memory) {
  return on_context(__func__, true, [&](Call& call, Context& context) {
    if (memory == nullptr) return CUDA_SUCCESS;
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    if (range_at(call, memory, RangeKind::kHost) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult done = synchronize(call, context); done != CUDA_SUCCESS) return done;
    call.driver.space->erase(host_address(memory));
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemHostRegister(void* memory, std::size_t size, unsigned flags) {
  return register_host(__func__, memory, size, flags);
}
CUDA_API CUresult cuMemHostRegister_v2(void* memory, std::size_t size, unsigned flags) {
  return register_host(__func__, memory, size, flags);
}

CUDA_API CUresult cuMemHostUnregister(void* memory) {
  return on_context(__func__, given(memory), [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    if (range_at(call, memory, RangeKind::kRegistered) == nullptr) {
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    if (const CUresult done = synchronize(call, context); done != CUDA_SUCCESS) return done;
    call.driver.space->erase(host_address(memory));
    return CUDA_SUCCESS;
  });
}

// The same address on both sides.
CUDA_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* memory, unsigned flags) {
  return on_context(__func__, given(out) && flags == 0, [&](Call& call, Context&) {
    const Range* const range = call.driver.space->find(host_address(memory));
    if (range == nullptr || !range->is_host()) return CUDA_ERROR_INVALID_VALUE;
    *out = host_address(memory);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemHostGetFlags(unsigned* flags, void* memory) {
  return on_context(__func__, given(flags), [&](Call& call, Context&) {
    const Range* const range = call.driver.space->find(host_address(memory));
    if (range == nullptr || !range->is_host()) return CUDA_ERROR_INVALID_VALUE;
    *flags = range->flags;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
