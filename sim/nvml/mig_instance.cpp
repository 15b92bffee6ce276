// GPU instances and compute instances.

#include <algorithm>
#include <vector>

#include "sim/gpu/mig.h"
#include "sim/nvml/library.h"
#include "sim/state/faults.h"

namespace tranche::sim {
namespace {

std::uint32_t slices_of_profile(unsigned int profile) {
  constexpr std::uint32_t kSlices[NVML_COMPUTE_INSTANCE_PROFILE_COUNT] = {1, 2, 3, 4, 7,
                                                                          8, 6, 1, 0};
  return profile < NVML_COMPUTE_INSTANCE_PROFILE_COUNT ? kSlices[profile] : 0;
}

unsigned int profile_of_slices(const Profile& owner, std::uint32_t slices) {
  constexpr unsigned int kRev1 = 7;
  if (owner.constant == kRev1) return kRev1;
  for (unsigned int profile = 0; profile < kRev1; ++profile) {
    if (slices_of_profile(profile) == slices) return profile;
  }
  return 0;
}

// NVML's protocol for lists here: the caller's array is large enough by contract, `count` comes
// back.
template <class Handle>
void give_list(const std::vector<Handle>& found, Handle* out, unsigned int* count) {
  std::ranges::copy(found, out);
  *count = static_cast<unsigned int>(found.size());
}

nvmlReturn_t create_gpu_instance(const Device& device, unsigned int id,
                                 std::optional<std::uint32_t> start, nvmlGpuInstance_t* out) {
  const Profile* profile = profile_by_id(device.model(), id);
  if (device.model().profile_count == 0) return NVML_ERROR_NOT_SUPPORTED;
  if (profile == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  const Simulation::Guard guard(device.state());
  const auto made = sim::create_gpu_instance(device.state(), device.hardware(), *profile, start);
  if (!made) return to_nvml(made.error());
  *out = gpu_instance_handle(device.state(), device.gpu, *made);
  return NVML_SUCCESS;
}

nvmlReturn_t create_compute_instance(const Device& device, unsigned int profile,
                                     std::optional<std::uint32_t> start,
                                     nvmlComputeInstance_t* out) {
  const std::uint32_t slices = slices_of_profile(profile);
  if (slices == 0) return NVML_ERROR_INVALID_ARGUMENT;
  const Simulation::Guard guard(device.state());
  const auto made = sim::create_compute_instance(device.state(), device.hardware(),
                                                 device.gpu_instance, slices, start);
  if (!made) return to_nvml(made.error());
  *out = compute_instance_handle(device.state(), device.gpu, device.gpu_instance, *made);
  return NVML_SUCCESS;
}

void layout_changed(const Device& device) {
  post_event(device.sim(), {.type = nvmlEventMigConfigChange, .gpu = device.gpu});
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceCreateGpuInstance(nvmlDevice_t handle, unsigned int profile,
                                                  nvmlGpuInstance_t* instance) {
  return on_gpu(__func__, handle, given(instance), [&](const Device& device) {
    const nvmlReturn_t made = create_gpu_instance(device, profile, std::nullopt, instance);
    if (made == NVML_SUCCESS) layout_changed(device);
    return made;
  });
}

NVML_API nvmlReturn_t nvmlDeviceCreateGpuInstanceWithPlacement(
    nvmlDevice_t handle, unsigned int profile, const nvmlGpuInstancePlacement_t* placement,
    nvmlGpuInstance_t* instance) {
  return on_gpu(__func__, handle, given(placement, instance), [&](const Device& device) {
    const Profile* wanted = profile_by_id(device.model(), profile);
    if (wanted != nullptr && wanted->size != placement->size) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t made = create_gpu_instance(device, profile, placement->start, instance);
    if (made == NVML_SUCCESS) layout_changed(device);
    return made;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceDestroy(nvmlGpuInstance_t handle) {
  return on_gpu_instance(__func__, handle, true, [&](const Device& device) {
    {
      const Simulation::Guard guard(device.state());
      const auto gone = destroy_gpu_instance(device.hardware(), device.gpu_instance);
      if (!gone) return to_nvml(gone.error());
    }
    layout_changed(device);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t handle, unsigned int profile,
                                                nvmlGpuInstance_t* instances, unsigned int* count) {
  return on_gpu(__func__, handle, given(instances, count), [&](const Device& device) {
    const Profile* wanted = profile_by_id(device.model(), profile);
    if (device.model().profile_count == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (wanted == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
    std::vector<nvmlGpuInstance_t> found;
    for (std::uint32_t id = 0; id < kMaxGpuInstances; ++id) {
      const GpuInstance& one = device.hardware().instances[id];
      if (one.used.load() == 0) continue;
      if (&profile_of(device.state(), device.hardware(), one) != wanted) continue;
      found.push_back(gpu_instance_handle(device.state(), device.gpu, id));
    }
    give_list(found, instances, count);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t handle, unsigned int id,
                                                   nvmlGpuInstance_t* instance) {
  return on_gpu(__func__, handle, given(instance), [&](const Device& device) {
    if (device.hardware().mig_current.load() == 0) return NVML_ERROR_NOT_SUPPORTED;
    if (id >= kMaxGpuInstances || device.hardware().instances[id].used.load() == 0) {
      return NVML_ERROR_NOT_FOUND;
    }
    *instance = gpu_instance_handle(device.state(), device.gpu, id);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t handle,
                                             nvmlGpuInstanceInfo_t* info) {
  return on_gpu_instance(__func__, handle, given(info), [&](const Device& device) {
    const Profile& profile = profile_of(device.state(), device.hardware(), device.instance());
    *info = {.device = gpu_handle(device.gpu),
             .id = device.gpu_instance,
             .profileId = profile.id,
             .placement = {device.instance().start, profile.size}};
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceCreateComputeInstance(nvmlGpuInstance_t handle,
                                                           unsigned int profile,
                                                           nvmlComputeInstance_t* instance) {
  return on_gpu_instance(__func__, handle, given(instance), [&](const Device& device) {
    const nvmlReturn_t made = create_compute_instance(device, profile, std::nullopt, instance);
    if (made == NVML_SUCCESS) layout_changed(device);
    return made;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceCreateComputeInstanceWithPlacement(
    nvmlGpuInstance_t handle, unsigned int profile, const nvmlComputeInstancePlacement_t* placement,
    nvmlComputeInstance_t* instance) {
  return on_gpu_instance(__func__, handle, given(placement, instance), [&](const Device& device) {
    if (placement->size != slices_of_profile(profile)) return NVML_ERROR_INVALID_ARGUMENT;
    const nvmlReturn_t made = create_compute_instance(device, profile, placement->start, instance);
    if (made == NVML_SUCCESS) layout_changed(device);
    return made;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t handle,
                                                                         unsigned int profile,
                                                                         unsigned int* count) {
  const std::uint32_t slices = slices_of_profile(profile);
  return on_gpu_instance(__func__, handle, given(count) && slices > 0, [&](const Device& device) {
    const Profile& owner = profile_of(device.state(), device.hardware(), device.instance());
    std::uint32_t taken = 0;
    for (const ComputeInstance& one : device.instance().compute) {
      if (one.used.load() != 0) taken += one.slices;
    }
    *count = (owner.slices - taken) / slices;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(
    nvmlGpuInstance_t handle, unsigned int profile, nvmlComputeInstancePlacement_t* placements,
    unsigned int* count) {
  const std::uint32_t slices = slices_of_profile(profile);
  return on_gpu_instance(__func__, handle, given(count) && slices > 0, [&](const Device& device) {
    const Profile& owner = profile_of(device.state(), device.hardware(), device.instance());
    const unsigned int total = slices > owner.slices ? 0 : owner.slices - slices + 1;
    if (placements != nullptr && *count < total) {
      *count = total;
      return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    for (unsigned int i = 0; placements != nullptr && i < total; ++i) placements[i] = {i, slices};
    *count = total;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlComputeInstanceDestroy(nvmlComputeInstance_t handle) {
  return on_compute_instance(__func__, handle, true, [&](const Device& device) {
    {
      const Simulation::Guard guard(device.state());
      const auto gone = destroy_compute_instance(device.sim(), device.hardware(),
                                                 {device.gpu_instance, device.compute_instance});
      if (!gone) return to_nvml(gone.error());
    }
    layout_changed(device);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t handle,
                                                         unsigned int profile,
                                                         nvmlComputeInstance_t* instances,
                                                         unsigned int* count) {
  return on_gpu_instance(__func__, handle, given(instances, count), [&](const Device& device) {
    const Profile& owner = profile_of(device.state(), device.hardware(), device.instance());
    std::vector<nvmlComputeInstance_t> found;
    for (std::uint32_t id = 0; id < kMaxComputeInstances; ++id) {
      const ComputeInstance& one = device.instance().compute[id];
      if (one.used.load() == 0 || profile_of_slices(owner, one.slices) != profile) continue;
      found.push_back(compute_instance_handle(device.state(), device.gpu, device.gpu_instance, id));
    }
    give_list(found, instances, count);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t handle,
                                                            unsigned int id,
                                                            nvmlComputeInstance_t* instance) {
  return on_gpu_instance(__func__, handle, given(instance), [&](const Device& device) {
    if (id >= kMaxComputeInstances || device.instance().compute[id].used.load() == 0) {
      return NVML_ERROR_NOT_FOUND;
    }
    *instance = compute_instance_handle(device.state(), device.gpu, device.gpu_instance, id);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t handle,
                                                    nvmlComputeInstanceInfo_t* info) {
  return on_compute_instance(__func__, handle, given(info), [&](const Device& device) {
    const Profile& owner = profile_of(device.state(), device.hardware(), device.instance());
    const ComputeInstance& one = device.compute();
    *info = {.device = gpu_handle(device.gpu),
             .gpuInstance = gpu_instance_handle(device.state(), device.gpu, device.gpu_instance),
             .id = device.compute_instance,
             .profileId = profile_of_slices(owner, one.slices),
             .placement = {one.start, one.slices}};
    return NVML_SUCCESS;
  });
}
NVML_API nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t handle,
                                                 nvmlComputeInstanceInfo_t* info) {
  return nvmlComputeInstanceGetInfo_v2(handle, info);
}

}  // namespace tranche::sim
