// MIG profiles and placements.

#include <algorithm>
#include <bit>

#include "fmt/format.h"
#include "sim/gpu/mig.h"
#include "sim/nvml/library.h"

namespace tranche::sim {
namespace {

constexpr unsigned int kCapsGraphics = 0x2;

bool has_graphics(const Profile& profile) {
  return std::string_view(profile.name).ends_with("+gfx");
}

void fill_name(std::string_view profile, char (&out)[kNameBufferSize]) {
  const std::string text = fmt::format("MIG {}", profile);
  std::ranges::fill(out, '\0');
  text.copy(out, sizeof out - 1);
}

// The part that all versions of the structure have under the same names.
template <class Info>
void fill_common(const Profile& profile, Info& info) {
  info.id = profile.id;
  info.sliceCount = profile.slices;
  info.instanceCount = profile.max_instances;
  info.multiprocessorCount = profile.sm;
  info.copyEngineCount = profile.copy_engines;
  info.decoderCount = profile.decoders;
  info.encoderCount = profile.encoders;
  info.jpegCount = profile.jpeg;
  info.ofaCount = profile.ofa;
  info.memorySizeMB = profile.memory_mib;
}

// Versions 2 and 3 are distinguished by their first word.
nvmlReturn_t fill_versioned(const Profile& profile, void* out) {
  unsigned int version = 0;
  std::memcpy(&version, out, sizeof version);
  if (version == struct_version<nvmlGpuInstanceProfileInfo_v2_t>(2)) {
    auto& info = *static_cast<nvmlGpuInstanceProfileInfo_v2_t*>(out);
    fill_common(profile, info);
    info.isP2pSupported = 0;
    fill_name(profile.name, info.name);
    return NVML_SUCCESS;
  }
  if (version == struct_version<nvmlGpuInstanceProfileInfo_v3_t>(3)) {
    auto& info = *static_cast<nvmlGpuInstanceProfileInfo_v3_t*>(out);
    fill_common(profile, info);
    fill_name(profile.name, info.name);
    info.capabilities = has_graphics(profile) ? kCapsGraphics : 0;
    return NVML_SUCCESS;
  }
  return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
}

nvmlReturn_t missing(const Device& device) {
  return device.model().profile_count == 0 ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
}

// Slices of NVML_COMPUTE_INSTANCE_PROFILE_*, 0 for the ones that no model here has.
std::uint32_t compute_slices(unsigned int constant) {
  constexpr std::uint32_t kSlices[NVML_COMPUTE_INSTANCE_PROFILE_COUNT] = {1, 2, 3, 4, 7,
                                                                          8, 6, 1, 0};
  return kSlices[constant];
}

// The compute profile exists in this GPU instance: a part, or the whole of it. The whole of a "+me"
// instance is 1_SLICE_REV1.
bool compute_exists(const Profile& profile, unsigned int constant) {
  constexpr unsigned int kRev1 = 7;
  const std::uint32_t slices = compute_slices(constant);
  const bool media = profile.constant == kRev1;
  if (constant == kRev1) return media;
  if (media) return false;
  return slices > 0 && slices <= profile.slices && (slices <= 4 || slices == profile.slices);
}

template <class Info>
void fill_compute(const Profile& profile, unsigned int constant, Info& info) {
  const std::uint32_t slices = compute_slices(constant);
  info.id = constant;
  info.sliceCount = slices;
  info.instanceCount = profile.slices / slices;
  info.multiprocessorCount = compute_sm(profile, slices);
  info.sharedCopyEngineCount = profile.copy_engines;
  info.sharedDecoderCount = profile.decoders;
  info.sharedEncoderCount = profile.encoders;
  info.sharedJpegCount = profile.jpeg;
  info.sharedOfaCount = profile.ofa;
}

template <class Info>
void fill_compute_name(const Profile& profile, unsigned int constant, Info& info) {
  const std::uint32_t slices = compute_slices(constant);
  fill_name(slices == profile.slices ? std::string(profile.name)
                                     : fmt::format("{}c.{}", slices, profile.name),
            info.name);
}

const Profile& profile_of(const Device& device) {
  return sim::profile_of(device.state(), device.hardware(), device.instance());
}

}  // namespace

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t handle, unsigned int profile,
                                                          nvmlGpuInstanceProfileInfo_t* info) {
  const bool arguments = given(info) && profile < NVML_GPU_INSTANCE_PROFILE_COUNT;
  return on_gpu(__func__, handle, arguments, [&](const Device& device) {
    const Profile* found = profile_by_constant(device.model(), profile);
    if (found == nullptr) return NVML_ERROR_NOT_SUPPORTED;
    fill_common(*found, *info);
    info->isP2pSupported = 0;
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t handle,
                                                           unsigned int profile,
                                                           nvmlGpuInstanceProfileInfo_v2_t* info) {
  const bool arguments = given(info) && profile < NVML_GPU_INSTANCE_PROFILE_COUNT;
  return on_gpu(__func__, handle, arguments, [&](const Device& device) {
    const Profile* found = profile_by_constant(device.model(), profile);
    return found == nullptr ? NVML_ERROR_NOT_SUPPORTED : fill_versioned(*found, info);
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(
    nvmlDevice_t handle, unsigned int id, nvmlGpuInstanceProfileInfo_v2_t* info) {
  return on_gpu(__func__, handle, given(info), [&](const Device& device) {
    const Profile* found = profile_by_id(device.model(), id);
    return found == nullptr ? missing(device) : fill_versioned(*found, info);
  });
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(
    nvmlDevice_t handle, unsigned int id, nvmlGpuInstancePlacement_t* placements,
    unsigned int* count) {
  return on_gpu(__func__, handle, given(count), [&](const Device& device) {
    const Profile* profile = profile_by_id(device.model(), id);
    if (profile == nullptr) return missing(device);
    const auto total = static_cast<unsigned int>(std::popcount(profile->starts));
    if (placements != nullptr) {
      if (*count < total) {
        *count = total;
        return NVML_ERROR_INSUFFICIENT_SIZE;
      }
      for (std::uint32_t start = 0; start < device.model().memory_slices; ++start) {
        if ((profile->starts >> start & 1U) != 0) *placements++ = {start, profile->size};
      }
    }
    *count = total;
    return NVML_SUCCESS;
  });
}
NVML_API nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(
    nvmlDevice_t handle, unsigned int id, nvmlGpuInstancePlacement_t* placements,
    unsigned int* count) {
  return nvmlDeviceGetGpuInstancePossiblePlacements_v2(handle, id, placements, count);
}

NVML_API nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t handle,
                                                                unsigned int id,
                                                                unsigned int* count) {
  return on_gpu(__func__, handle, given(count), [&](const Device& device) {
    const Profile* profile = profile_by_id(device.model(), id);
    if (profile == nullptr) return missing(device);
    if (device.hardware().mig_current.load() == 0) return NVML_ERROR_NOT_SUPPORTED;
    *count = remaining_capacity(device.state(), device.hardware(), *profile);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(
    nvmlGpuInstance_t handle, unsigned int profile, unsigned int engine,
    nvmlComputeInstanceProfileInfo_t* info) {
  const bool arguments =
      given(info) && profile < NVML_COMPUTE_INSTANCE_PROFILE_COUNT && engine == 0;
  return on_gpu_instance(__func__, handle, arguments, [&](const Device& device) {
    if (!compute_exists(profile_of(device), profile)) return NVML_ERROR_NOT_SUPPORTED;
    fill_compute(profile_of(device), profile, *info);
    return NVML_SUCCESS;
  });
}

NVML_API nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t handle, unsigned int profile, unsigned int engine,
    nvmlComputeInstanceProfileInfo_v2_t* info) {
  const bool arguments =
      given(info) && profile < NVML_COMPUTE_INSTANCE_PROFILE_COUNT && engine == 0;
  return on_gpu_instance(__func__, handle, arguments, [&](const Device& device) {
    const Profile& owner = profile_of(device);
    const bool third = info->version == struct_version<nvmlComputeInstanceProfileInfo_v3_t>(3);
    if (!third && info->version != struct_version<nvmlComputeInstanceProfileInfo_v2_t>(2)) {
      return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (!compute_exists(owner, profile)) return NVML_ERROR_NOT_SUPPORTED;
    fill_compute(owner, profile, *info);
    fill_compute_name(owner, profile, *info);
    if (third) {
      // Version 3 is version 2 with one word more.
      auto* whole = reinterpret_cast<nvmlComputeInstanceProfileInfo_v3_t*>(info);  // NOLINT
      whole->capabilities = has_graphics(owner) ? 1 : 0;
    }
    return NVML_SUCCESS;
  });
}

}  // namespace tranche::sim
