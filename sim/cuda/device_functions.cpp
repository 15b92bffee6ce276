// Devices: their names, sizes and places.

#include <algorithm>

#include "fmt/format.h"
#include "sim/cuda/library.h"
#include "sim/machine/identity.h"

namespace tranche::sim::cuda {
namespace {

// Copies as much as fits, always with a terminating zero.
CUresult copy_text(std::string_view text, char* out, int length) {
  if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
  const std::size_t copied = std::min(text.size(), static_cast<std::size_t>(length) - 1);
  text.copy(out, copied);
  out[copied] = '\0';
  return CUDA_SUCCESS;
}

// "0000:3b:00.0", "3b:00.0", "0000:3b:00"
bool is_at(const Gpu& gpu, std::string_view text) {
  std::string address(text);
  if (std::count(address.begin(), address.end(), ':') == 1) address.insert(0, "0:");
  if (address.find('.') == address.npos) address += ".0";
  const auto parsed = parse_pci(address);
  return parsed && parsed->domain == gpu.pci.domain && parsed->bus == gpu.pci.bus &&
         parsed->device == gpu.pci.device;
}

}  // namespace

CUDA_API CUresult cuInit(unsigned int flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return initialise();
}

CUDA_API CUresult cuDeviceGetCount(int* count) {
  return on_driver(__func__, given(count), [&](Call& call) {
    *count = static_cast<int>(call.driver.devices.size());
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return on_device(__func__, ordinal, given(device), [&](Call&, Device& found) {
    *device = found.ordinal;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuDeviceGetName(char* name, int length, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(name),
                   [&](Call&, Device& device) { return copy_text(device.name, name, length); });
}

// The first version knows no MIG.
CUDA_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(uuid), [&](Call&, Device& device) {
    *uuid = device.parent_uuid;
    return CUDA_SUCCESS;
  });
}
CUDA_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(uuid), [&](Call&, Device& device) {
    *uuid = device.uuid;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(bytes), [&](Call&, Device& device) {
    *bytes = device.total_bytes;
    return CUDA_SUCCESS;
  });
}

CUDA_API CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice ordinal) {
  return on_device(__func__, ordinal, given(text), [&](Call&, Device& device) {
    const PciAddress& pci = device.gpu->pci;
    return copy_text(fmt::format("{:04X}:{:02X}:{:02X}.0", pci.domain, pci.bus, pci.device), text,
                     length);
  });
}

CUDA_API CUresult cuDeviceGetByPCIBusId(CUdevice* out, const char* text) {
  return on_driver(__func__, given(out, text), [&](Call& call) {
    for (const auto& device : call.driver.devices) {
      if (!is_at(*device->gpu, text)) continue;
      *out = device->ordinal;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

CUDA_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice ordinal, CUdevice peer) {
  return on_device(__func__, ordinal, given(can), [&](Call& call, Device& device) {
    const Device* const other = call.driver.device(peer);
    if (other == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *can = can_access(device, *other) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace tranche::sim::cuda
