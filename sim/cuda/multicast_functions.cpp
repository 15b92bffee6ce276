// The functions about multicast objects.

#include <algorithm>

#include "sim/cuda/memory.h"
#include "sim/cuda/multicast.h"
#include "sim/cuda/virtual_memory.h"

namespace tranche::sim::cuda {
namespace {

std::shared_ptr<Multicast> find_object(Call& call, CUmemGenericAllocationHandle handle) {
  const PhysicalPtr physical = call.driver.physicals.find(handle);
  return physical ? physical->multicast : nullptr;
}

bool is_paged(std::uint64_t offset, std::uint64_t size, std::uint64_t room) {
  return size > 0 && offset % kPage == 0 && size % kPage == 0 && offset <= room &&
         size <= room - offset;
}

// `offset`: of the part in its block.
CUresult bind_block(Multicast& object, std::uint64_t at, const std::shared_ptr<Block>& block,
                    std::uint64_t offset, std::uint64_t size) {
  const int device = block->device().ordinal;
  const bool good = object.devices.size() == object.device_count &&
                    object.devices.contains(device) && is_paged(at, size, object.size) &&
                    is_paged(offset, size, block->size());
  if (!good) return CUDA_ERROR_INVALID_VALUE;
  const bool is_free = std::ranges::none_of(object.bound, [&](const auto& one) {
    const auto& [key, bound] = one;
    return key.first == device && key.second < at + size && at < key.second + bound.size;
  });
  if (!is_free) return CUDA_ERROR_INVALID_VALUE;
  object.bound[{device, at}] = {size, block};
  return CUDA_SUCCESS;
}

// `device` -1: the memory's own.
CUresult bind_memory(const char* function, CUmemGenericAllocationHandle object_handle, int device,
                     std::size_t at, CUmemGenericAllocationHandle handle, std::size_t offset,
                     std::size_t size, bool good) {
  return on_driver(function, good, [&](Call& call) {
    const auto object = find_object(call, object_handle);
    const PhysicalPtr physical = call.driver.physicals.find(handle);
    if (!object || !physical || !physical->block) return CUDA_ERROR_INVALID_VALUE;
    const bool is_its = device < 0 || device == physical->block->device().ordinal;
    return is_its ? bind_block(*object, at, physical->block, offset, size)
                  : CUDA_ERROR_INVALID_DEVICE;
  });
}

CUresult bind_address(const char* function, CUmemGenericAllocationHandle object_handle, int device,
                      std::size_t at, CUdeviceptr address, std::size_t size, bool good) {
  return on_driver(function, good, [&](Call& call) {
    const auto object = find_object(call, object_handle);
    const Range* const range = call.driver.space->find(address);
    if (!object || range == nullptr || range->kind != RangeKind::kMapped) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (device >= 0 && device != range->device->ordinal) return CUDA_ERROR_INVALID_DEVICE;
    return bind_block(*object, at, range->piece.block, address - range->base, size);
  });
}

}  // namespace

CUDA_API CUresult cuMulticastGetGranularity(std::size_t* out, const CUmulticastObjectProp* wanted,
                                            CUmulticastGranularity_flags) {
  return on_driver(__func__, given(out, wanted), [&](Call&) {
    *out = kPage;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMulticastCreate(CUmemGenericAllocationHandle* out,
                                    const CUmulticastObjectProp* wanted) {
  const bool arguments = given(out, wanted) && wanted->numDevices > 0 && wanted->size > 0 &&
                         wanted->size % kPage == 0 && wanted->flags == 0;
  return on_driver(__func__, arguments, [&](Call& call) {
    const bool can = std::ranges::any_of(call.driver.devices,
                                         [&](const auto& device) { return device->multicasts(); });
    if (!can || wanted->handleTypes != 0) return CUDA_ERROR_NOT_SUPPORTED;
    auto physical = std::make_shared<Physical>();
    physical->multicast = std::make_shared<Multicast>();
    physical->multicast->device_count = wanted->numDevices;
    physical->multicast->size = wanted->size;
    *out = call.driver.physicals.add(std::move(physical))->number;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice ordinal) {
  return on_device(__func__, ordinal, true, [&](Call& call, Device& device) {
    const auto object = find_object(call, handle);
    if (!object) return CUDA_ERROR_INVALID_VALUE;
    if (!device.multicasts()) return CUDA_ERROR_NOT_SUPPORTED;
    const bool is_new = object->devices.size() < object->device_count &&
                        object->devices.insert(device.ordinal).second;
    return is_new ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUDA_API CUresult cuMulticastBindMem(CUmemGenericAllocationHandle object, std::size_t at,
                                     CUmemGenericAllocationHandle memory, std::size_t offset,
                                     std::size_t size, unsigned long long flags) {
  return bind_memory(__func__, object, -1, at, memory, offset, size, flags == 0);
}
CUDA_API CUresult cuMulticastBindMem_v2(CUmemGenericAllocationHandle object, CUdevice device,
                                        std::size_t at, CUmemGenericAllocationHandle memory,
                                        std::size_t offset, std::size_t size,
                                        unsigned long long flags) {
  return bind_memory(__func__, object, device, at, memory, offset, size, flags == 0 && device >= 0);
}
CUDA_API CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle object, std::size_t at,
                                      CUdeviceptr address, std::size_t size,
                                      unsigned long long flags) {
  return bind_address(__func__, object, -1, at, address, size, flags == 0);
}
CUDA_API CUresult cuMulticastBindAddr_v2(CUmemGenericAllocationHandle object, CUdevice device,
                                         std::size_t at, CUdeviceptr address, std::size_t size,
                                         unsigned long long flags) {
  return bind_address(__func__, object, device, at, address, size, flags == 0 && device >= 0);
}

CUDA_API CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice ordinal,
                                    std::size_t at, std::size_t size) {
  return on_device(__func__, ordinal, size > 0, [&](Call& call, Device& device) {
    const auto object = find_object(call, handle);
    if (!object) return CUDA_ERROR_INVALID_VALUE;
    const auto gone = std::erase_if(object->bound, [&](const auto& one) {
      const auto& [key, bound] = one;
      return key.first == device.ordinal && key.second >= at &&
             key.second + bound.size <= at + size;
    });
    return gone > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace tranche::sim::cuda
