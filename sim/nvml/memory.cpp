// Memory of GPUs and MIG devices.

#include "sim/gpu/memory.h"

#include <algorithm>

#include "sim/gpu/memory_limits.h"
#include "sim/nvml/library.h"

namespace tranche::sim {

NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  return on_device(__func__, handle, given(memory), [&](const Device& device) {
    if (memory->version != struct_version<nvmlMemory_v2_t>(2)) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    const MemoryUse use = memory_use(device.sim(), device.gpu, device.gpu_instance);
    memory->total = use.total;
    memory->reserved = use.reserved;
    memory->used = use.used;
    memory->free = use.total - std::min(use.total, use.used + use.reserved);
    if (device.gpu_instance != kNone) return NVML_SUCCESS;
    // Within a control group that has a limit, that is the device.
    if (const auto limits = OwnLimits::look(device.sim(), device.gpu); !limits.empty()) {
      const CgroupMemory own = limits.nearest(device.sim());
      memory->total = std::min(use.total, own.hard);
      memory->reserved = 0;
      memory->used = own.used;
      memory->free = std::min<unsigned long long>(memory->free, limits.room(device.sim()));
    }
    return NVML_SUCCESS;
  });
}

// The first version knows no "reserved": it counts as used.
NVML_API nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return on_device(__func__, handle, given(memory), [&](const Device& device) {
    const MemoryUse use = memory_use(device.sim(), device.gpu, device.gpu_instance);
    memory->total = use.total;
    memory->used = std::min(use.total, use.used + use.reserved);
    memory->free = use.total - memory->used;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t handle, nvmlBAR1Memory_t* memory) {
  return on_gpu(__func__, handle, given(memory), [&](const Device& device) {
    // Two MiB are what an idle GPU shows.
    memory->bar1Total = device.model().bar1_bytes;
    memory->bar1Used = std::min<unsigned long long>(memory->bar1Total, 2ULL << 20U);
    memory->bar1Free = memory->bar1Total - memory->bar1Used;
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
