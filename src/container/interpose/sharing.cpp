// Holders of physical memory other than handles and mappings: descriptors and their importers,
// tiles of sparse arrays, multicast objects, logical endpoints. The memory is marked before the
// driver is called, because another thread may release it as soon as it is held. If the driver
// refuses, the mark costs no more than a wait for NVML (released.h).

#include "interpose/driver.h"
#include "interpose/exports.h"
#include "interpose/memory.h"

using namespace tranche::interpose;

namespace {

void note_held_elsewhere_at(void* address) {
  std::uint64_t handle = 0;
  if (!has_tenants() || driver.cuMemRetainAllocationHandle(&handle, address) != kSuccess) return;
  note_held_elsewhere(handle);
  driver.cuMemRelease(handle);
}
void note_held_elsewhere_at(CUdeviceptr address) {
  note_held_elsewhere_at(reinterpret_cast<void*>(address));
}

void note_all(const void* list, unsigned count) {
  const auto* mappings = static_cast<const ArrayMapping*>(list);
  for (unsigned i = 0; list != nullptr && i < count; ++i) {
    if (mappings[i].operation == kMapMemory) note_held_elsewhere(mappings[i].handle);
  }
}

}  // namespace

int cuMemExportToShareableHandle(void* shareable, std::uint64_t handle, unsigned type,
                                 std::uint64_t flags) {
  note_held_elsewhere(handle);
  return driver.cuMemExportToShareableHandle(shareable, handle, type, flags);
}

int cuMemMapArrayAsync(void* list, unsigned count, void* stream) {
  note_all(list, count);
  return driver.cuMemMapArrayAsync(list, count, stream);
}
int cuMemMapArrayAsync_ptsz(void* list, unsigned count, void* stream) {
  note_all(list, count);
  return driver.cuMemMapArrayAsync_ptsz(list, count, stream);
}

int cuMulticastBindMem(std::uint64_t object, size_t offset, std::uint64_t handle,
                       size_t handle_offset, size_t bytes, std::uint64_t flags) {
  note_held_elsewhere(handle);
  return driver.cuMulticastBindMem(object, offset, handle, handle_offset, bytes, flags);
}
int cuMulticastBindMem_v2(std::uint64_t object, int device, size_t offset, std::uint64_t handle,
                          size_t handle_offset, size_t bytes, std::uint64_t flags) {
  note_held_elsewhere(handle);
  return driver.cuMulticastBindMem_v2(object, device, offset, handle, handle_offset, bytes, flags);
}

int cuMulticastBindAddr(std::uint64_t object, size_t offset, CUdeviceptr address, size_t bytes,
                        std::uint64_t flags) {
  note_held_elsewhere_at(address);
  return driver.cuMulticastBindAddr(object, offset, address, bytes, flags);
}
int cuMulticastBindAddr_v2(std::uint64_t object, int device, size_t offset, CUdeviceptr address,
                           size_t bytes, std::uint64_t flags) {
  note_held_elsewhere_at(address);
  return driver.cuMulticastBindAddr_v2(object, device, offset, address, bytes, flags);
}

int cuLogicalEndpointBindMem(unsigned endpoint, int device, std::uint64_t offset,
                             std::uint64_t handle, std::uint64_t handle_offset, std::uint64_t bytes,
                             std::uint64_t flags) {
  note_held_elsewhere(handle);
  return driver.cuLogicalEndpointBindMem(endpoint, device, offset, handle, handle_offset, bytes,
                                         flags);
}
int cuLogicalEndpointBindAddr(unsigned endpoint, int device, std::uint64_t offset, void* address,
                              std::uint64_t bytes, std::uint64_t flags) {
  note_held_elsewhere_at(address);
  return driver.cuLogicalEndpointBindAddr(endpoint, device, offset, address, bytes, flags);
}
