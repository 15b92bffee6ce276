#include "sim/cuda/virtual_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "sim/cuda/memory.h"

namespace tranche::sim::cuda {
namespace {

bool is_known(const Call& call, const CUmemAllocationProp* properties) {
  return properties != nullptr && properties->type == CU_MEM_ALLOCATION_TYPE_PINNED &&
         ordinal_of(properties->location) >= 0 &&
         call.driver.device(ordinal_of(properties->location)) != nullptr;
}

// The ranges mapped in [address, address + size); empty when they do not cover exactly that.
std::vector<Range*> mapped_in(Call& call, CUdeviceptr address, std::size_t size) {
  std::vector<Range*> found;
  CUdeviceptr at = address;
  while (at < address + size) {
    Range* const range = call.driver.space->find(at);
    if (range == nullptr || range->kind != RangeKind::kMapped || range->base != at) return {};
    found.push_back(range);
    at += range->size;
  }
  return at == address + size ? found : std::vector<Range*>{};
}

bool is_reserved(Call& call, CUdeviceptr address, std::size_t size) {
  auto& reservations = call.driver.space->reservations();
  auto after = reservations.upper_bound(address);
  if (after == reservations.begin()) return false;
  const auto& [base, length] = *std::prev(after);
  return address - base <= length && size <= length - (address - base);
}

template <class Answer>
CUresult on_physical(const char* name, CUmemGenericAllocationHandle handle, bool arguments_given,
                     Answer answer) {
  return on_driver(name, arguments_given, [&](Call& call) {
    const PhysicalPtr physical = call.driver.physicals.find(handle);
    if (!physical) return CUDA_ERROR_INVALID_VALUE;
    return physical->block ? answer(call, physical) : CUDA_ERROR_NOT_SUPPORTED;
  });
}

}  // namespace

Device* device_of(Driver& driver, const SharedMemoryLabel& label) {
  for (const auto& device : driver.devices) {
    const UseTarget& target = device->target;
    if (target.gpu == label.gpu && target.gpu_instance == label.gpu_instance &&
        target.compute_instance == label.compute_instance &&
        device->label(0).state == label.state) {
      return device.get();
    }
  }
  return nullptr;
}

CUDA_API CUresult cuMemGetAllocationGranularity(std::size_t* granularity,
                                                const CUmemAllocationProp* properties,
                                                CUmemAllocationGranularity_flags option) {
  const bool arguments = given(granularity) && option <= CU_MEM_ALLOC_GRANULARITY_RECOMMENDED;
  return on_driver(__func__, arguments, [&](Call& call) {
    if (!is_known(call, properties)) return CUDA_ERROR_INVALID_VALUE;
    *granularity = kPage;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemCreate(CUmemGenericAllocationHandle* out, std::size_t size,
                              const CUmemAllocationProp* properties, unsigned long long flags) {
  const bool arguments = given(out, properties) && size > 0 && size % kPage == 0 && flags == 0;
  return on_driver(__func__, arguments, [&](Call& call) {
    if (!is_known(call, properties)) return CUDA_ERROR_INVALID_VALUE;
    const auto type = properties->requestedHandleTypes;
    if ((type & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) return CUDA_ERROR_NOT_SUPPORTED;
    auto physical = std::make_shared<Physical>();
    physical->properties = *properties;
    physical->block = Block::make(*call.driver.device(ordinal_of(properties->location)), size,
                                  type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    if (!physical->block) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = call.driver.physicals.add(std::move(physical))->number;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return on_driver(__func__, true, [&](Call& call) {
    const PhysicalPtr physical = call.driver.physicals.find(handle);
    if (!physical) return CUDA_ERROR_INVALID_VALUE;
    if (--physical->references == 0) call.driver.physicals.erase(*physical);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  return on_driver(__func__, given(out), [&](Call& call) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);  // NOLINT: a device address
    const Range* const range = call.driver.space->find(number);
    if (range == nullptr || !range->physical) return CUDA_ERROR_INVALID_VALUE;
    if (range->physical->references++ == 0) call.driver.physicals.restore(range->physical);
    *out = range->physical->number;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* out,
                                                         CUmemGenericAllocationHandle handle) {
  return on_physical(__func__, handle, given(out), [&](Call&, const PhysicalPtr& physical) {
    *out = physical->properties;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemAddressReserve(CUdeviceptr* out, std::size_t size, std::size_t alignment,
                                      CUdeviceptr wanted, unsigned long long flags) {
  const bool arguments = given(out) && size > 0 && size % kPage == 0 && flags == 0 &&
                         (alignment & (alignment - 1)) == 0;
  return on_driver(__func__, arguments, [&](Call& call) {
    const auto address = call.driver.space->reserve(size, std::max(alignment, kPage), wanted);
    if (!address) return CUDA_ERROR_OUT_OF_MEMORY;
    call.driver.space->reservations()[*address] = size;
    *out = *address;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemAddressFree(CUdeviceptr address, std::size_t size) {
  return on_driver(__func__, true, [&](Call& call) {
    auto& reservations = call.driver.space->reservations();
    const auto reserved = reservations.find(address);
    const bool same = reserved != reservations.end() && reserved->second == size;
    if (!same || call.driver.space->has_any(address, size)) return CUDA_ERROR_INVALID_VALUE;
    reservations.erase(reserved);
    call.driver.space->release(address, size);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemMap(CUdeviceptr address, std::size_t size, std::size_t offset,
                           CUmemGenericAllocationHandle handle, unsigned long long flags) {
  const bool arguments =
      address % kPage == 0 && size > 0 && size % kPage == 0 && offset == 0 && flags == 0;
  return on_physical(__func__, handle, arguments, [&](Call& call, const PhysicalPtr& physical) {
    const bool good = size <= physical->block->size() && is_reserved(call, address, size) &&
                      !call.driver.space->has_any(address, size);
    if (!good) return CUDA_ERROR_INVALID_VALUE;
    // Not accessible until cuMemSetAccess.
    call.driver.space->add({.base = address,
                            .size = size,
                            .kind = RangeKind::kMapped,
                            .device = &physical->block->device(),
                            .piece = {.block = physical->block, .address = address, .size = size},
                            .physical = physical,
                            .access = CU_MEM_ACCESS_FLAGS_PROT_NONE});
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemUnmap(CUdeviceptr address, std::size_t size) {
  return on_driver(__func__, size > 0, [&](Call& call) {
    const auto ranges = mapped_in(call, address, size);
    if (ranges.empty()) return CUDA_ERROR_INVALID_VALUE;
    std::vector<std::uint64_t> bases;
    for (const Range* const range : ranges) bases.push_back(range->base);
    for (const std::uint64_t base : bases) call.driver.space->erase(base);
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemSetAccess(CUdeviceptr address, std::size_t size,
                                 const CUmemAccessDesc* descriptions, std::size_t count) {
  return on_driver(__func__, given(descriptions) && count > 0, [&](Call& call) {
    const auto ranges = mapped_in(call, address, size);
    if (ranges.empty()) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      if (descriptions[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return CUDA_ERROR_NOT_SUPPORTED;
      }
      const Device* const device = call.driver.device(descriptions[i].location.id);
      if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
      for (Range* const range : ranges) {
        if (device != range->device && !can_access(*device, *range->device)) {
          return CUDA_ERROR_INVALID_DEVICE;
        }
        range->access = descriptions[i].flags;
      }
    }
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuMemExportToShareableHandle(void* out, CUmemGenericAllocationHandle handle,
                                               CUmemAllocationHandleType type,
                                               unsigned long long flags) {
  const bool arguments = given(out) && flags == 0;
  return on_physical(__func__, handle, arguments, [&](Call&, const PhysicalPtr& physical) {
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    if (physical->block->file() < 0) return CUDA_ERROR_INVALID_VALUE;
    const int fd = ::fcntl(physical->block->file(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    std::memcpy(out, &fd, sizeof fd);
    return CUDA_SUCCESS;
  });
}

// The descriptor stays the caller's.
CUDA_API CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* out, void* os_handle,
                                                 CUmemAllocationHandleType type) {
  return on_driver(__func__, given(out), [&](Call& call) {
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    const auto fd =
        static_cast<int>(reinterpret_cast<std::intptr_t>(os_handle));  // NOLINT: a number
    const auto label = read_label(fd);
    if (!label) return CUDA_ERROR_INVALID_VALUE;
    Device* const device = device_of(call.driver, *label);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    auto physical = std::make_shared<Physical>();
    physical->properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    physical->properties.requestedHandleTypes = type;
    physical->properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, device->ordinal};
    physical->block = Block::import(*device, OwnedFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0)), *label);
    if (!physical->block) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = call.driver.physicals.add(std::move(physical))->number;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
