// MIG mode, and MIG devices as devices.

#include <algorithm>

#include "sim/gpu/mig.h"
#include "sim/nvml/library.h"
#include "sim/state/faults.h"

namespace tranche::sim {
namespace {

nvmlReturn_t activation(const Result<void>& set) {
  return set ? NVML_SUCCESS : to_nvml(set.error());
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t handle, unsigned int* current,
                                           unsigned int* pending) {
  return on_gpu(__func__, handle, given(current, pending), [&](const Device& device) {
    if (device.model().profile_count == 0) return NVML_ERROR_NOT_SUPPORTED;
    *current = device.hardware().mig_current.load();
    *pending = device.hardware().mig_pending.load();
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceSetMigMode(nvmlDevice_t handle, unsigned int mode,
                                           nvmlReturn_t* status) {
  return on_gpu(__func__, handle, given(status) && mode <= 1, [&](const Device& device) {
    if (device.model().profile_count == 0) return NVML_ERROR_NOT_SUPPORTED;
    {
      const Simulation::Guard guard(device.state());
      *status = activation(set_mig_mode(device.sim(), device.hardware(), mode == 1, Users::kAll));
    }
    if (*status == NVML_SUCCESS) {
      post_event(device.sim(), {.type = nvmlEventMigConfigChange, .gpu = device.gpu});
    }
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned int* count) {
  return on_gpu(__func__, handle, given(count), [&](const Device& device) {
    *count = device.model().compute_slices;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t handle, unsigned int index,
                                                          nvmlDevice_t* mig) {
  return on_gpu(__func__, handle, given(mig), [&](const Device& device) {
    if (device.model().profile_count == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (index >= device.model().compute_slices) return NVML_ERROR_INVALID_ARGUMENT;
    unsigned int at = 0;
    for (const MigDevice one : mig_devices(device.hardware())) {
      if (!device.session.visible.shows(device.gpu, one.gpu_instance, one.compute_instance)) {
        continue;
      }
      if (at++ != index) continue;
      *mig = mig_handle(device.state(), device.gpu, one.gpu_instance, one.compute_instance);
      return NVML_SUCCESS;
    }
    return NVML_ERROR_NOT_FOUND;
  });
}

NVML_API nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned int* is_mig) {
  return on_device(__func__, handle, given(is_mig), [&](const Device& device) {
    *is_mig = device.is_mig() ? 1 : 0;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t handle,
                                                                   nvmlDevice_t* parent) {
  return on_device(__func__, handle, given(parent), [&](const Device& device) {
    if (!device.is_mig()) return NVML_ERROR_INVALID_ARGUMENT;
    *parent = gpu_handle(device.gpu);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t handle, unsigned int* id) {
  return on_device(__func__, handle, given(id), [&](const Device& device) {
    if (!device.is_mig()) return NVML_ERROR_NOT_SUPPORTED;
    *id = device.gpu_instance;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t handle, unsigned int* id) {
  return on_device(__func__, handle, given(id), [&](const Device& device) {
    if (!device.is_mig()) return NVML_ERROR_NOT_SUPPORTED;
    *id = device.compute_instance;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t handle,
                                                 nvmlDeviceAttributes_t* attributes) {
  return on_device(__func__, handle, given(attributes), [&](const Device& device) {
    if (!device.is_mig()) return NVML_ERROR_NOT_SUPPORTED;
    const Profile& profile = profile_of(device.state(), device.hardware(), device.instance());
    const std::uint32_t slices = device.compute().slices;
    *attributes = {.multiprocessorCount = compute_sm(profile, slices),
                   .sharedCopyEngineCount = profile.copy_engines,
                   .sharedDecoderCount = profile.decoders,
                   .sharedEncoderCount = profile.encoders,
                   .sharedJpegCount = profile.jpeg,
                   .sharedOfaCount = profile.ofa,
                   .gpuInstanceSliceCount = profile.slices,
                   .computeInstanceSliceCount = slices,
                   .memorySizeMB = profile.memory_mib};
    return NVML_SUCCESS;
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t handle,
                                              nvmlDeviceAttributes_t* attributes) {
  return nvmlDeviceGetAttributes_v2(handle, attributes);
}

}  // namespace tranche::sim
