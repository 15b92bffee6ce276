// Managed memory: ordinary memory that the device may touch too. It takes the GPU's memory only
// while it is there: after a prefetch, a memset or a copy on the device, or a kernel that got a
// pointer into it. Allocations that cannot move push it out again (sim/gpu/memory.h), so there can
// be more of it than the GPU has.

#include <algorithm>
#include <cstring>

#include "sim/cuda/capture.h"
#include "sim/cuda/memory.h"
#include "sim/gpu/memory.h"

namespace tranche::sim::cuda {
namespace {

constexpr CUdevice kCpu = -1;

// A part of managed memory; nullptr: not wholly there.
Range* managed_at(Call& call, CUdeviceptr address, std::size_t count) {
  Range* const range = call.driver.space->find(address);
  const bool whole = range != nullptr && range->kind == RangeKind::kManaged &&
                     count <= range->size - (address - range->base);
  return whole ? range : nullptr;
}

CUresult prefetch(Call& call, const StreamPtr& stream, CUdeviceptr address, std::size_t count,
                  CUdevice ordinal) {
  Range* const range = managed_at(call, address, count);
  if (range == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  Device* const device = ordinal == kCpu ? nullptr : call.driver.device(ordinal);
  if (ordinal != kCpu && device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (device == nullptr) {
    give_back_residence(call, *range);
  } else {
    make_resident(call, *device, *range, count);
  }
  return perform(call, stream, EmptyWork{});
}

// Advice changes nothing here.
CUresult advise(const char* function, CUdeviceptr address, std::size_t count, CUmem_advise advice) {
  return on_context(function, count > 0, [&](Call& call, Context&) {
    const bool known =
        advice >= CU_MEM_ADVISE_SET_READ_MOSTLY && advice <= CU_MEM_ADVISE_UNSET_ACCESSED_BY;
    const bool good = known && managed_at(call, address, count) != nullptr;
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace

void make_resident(Call& call, Device& device, Range& range, std::uint64_t bytes) {
  if (range.kind != RangeKind::kManaged || device.use == nullptr) return;
  if (range.device != &device) give_back_residence(call, range);
  range.device = &device;
  const std::uint64_t wanted = std::min(range.size, round_up(bytes, kPage));
  if (wanted <= range.resident) return;
  range.resident += take_managed(*call.driver.sim, *device.use, wanted - range.resident);
}

void give_back_residence(Call& call, Range& range) {
  if (range.resident > 0 && range.device != nullptr && range.device->use != nullptr) {
    give_managed(*call.driver.sim, *range.device->use, range.resident);
  }
  range.resident = 0;
}

CUDA_API CUresult cuMemAllocManaged(CUdeviceptr* out, std::size_t size, unsigned flags) {
  const bool arguments =
      given(out) && size > 0 && (flags == CU_MEM_ATTACH_GLOBAL || flags == CU_MEM_ATTACH_HOST);
  return on_context(__func__, arguments, [&](Call& call, Context& context) {
    if (const CUresult safe = refuse_unsafe(call); safe != CUDA_SUCCESS) return safe;
    auto memory = map_host(size);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = reinterpret_cast<std::uintptr_t>(memory.get());  // NOLINT: addresses are numbers here
    call.driver.space->add({.base = *out,
                            .size = size,
                            .kind = RangeKind::kManaged,
                            .device = &context.device,
                            .context = call.context,
                            .host = static_cast<std::byte*>(memory.get()),
                            .owned = std::move(memory),
                            .flags = flags});
    return CUDA_SUCCESS;
  });
}

CUDA_API_TWINS(cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz,
               (CUdeviceptr address, std::size_t count, CUdevice device, CUstream handle),
               (address, count, device, handle)) {
  return on_stream(function, handle, zero, true, [&](Call& call, const StreamPtr& stream) {
    return prefetch(call, stream, address, count, device);
  });
}
CUDA_API_TWINS(cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz,
               (CUdeviceptr address, std::size_t count, CUmemLocation location, unsigned flags,
                CUstream handle),
               (address, count, location, flags, handle)) {
  return on_stream(function, handle, zero, flags == 0, [&](Call& call, const StreamPtr& stream) {
    const bool to_device = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    return prefetch(call, stream, address, count, to_device ? location.id : kCpu);
  });
}

CUDA_API CUresult cuMemAdvise(CUdeviceptr address, std::size_t count, CUmem_advise advice,
                              CUdevice) {
  return advise(__func__, address, count, advice);
}
CUDA_API CUresult cuMemAdvise_v2(CUdeviceptr address, std::size_t count, CUmem_advise advice,
                                 CUmemLocation) {
  return advise(__func__, address, count, advice);
}

}  // namespace tranche::sim::cuda
