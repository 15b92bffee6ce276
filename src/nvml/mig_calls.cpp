#include "nvml/mig_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tranche::nvml {
namespace {

// A GPU has at most 12 GPU instances and 8 compute instances in one; NVML does not take the size of
// the array and says only that it must be large enough for the profile.
constexpr std::size_t kRoom = 64;

constexpr const char* kNeedsRoot =
    "run it as root, with NVIDIA_MIG_CONFIG_DEVICES=all or a privileged container";

// The driver does not know the profile of that number.
bool is_unknown_profile(Return result) {
  return result == kNotSupported || result == kInvalidArgument;
}

std::pair<Code, const char*> meaning(Return result) {
  switch (result) {
    case kNoPermission:
      return {Code::kPermission, kNeedsRoot};
    case kNotSupported:
    case kFunctionNotFound:
      return {Code::kUnsupported, ""};
    case kNotFound:
      return {Code::kNotFound, ""};
    case kInUse:
      return {Code::kFailedPrecondition, "end the processes that use it first"};
    case kInvalidArgument:
    case kInsufficientResources:
      return {Code::kInvalidArgument, ""};
    case kResetRequired:
      return {Code::kUnavailable, "reset the GPU: nvidia-smi --gpu-reset -i GPU"};
    default:
      return {Code::kUnavailable, ""};
  }
}

}  // namespace

std::unexpected<Error> MigCalls::error(const char* function, Return result) {
  driver_gone_ = driver_gone_ || result == kUninitialized || result == kDriverNotLoaded;
  const auto [code, hint] = meaning(result);
  return fail(code, call_.describe(function, result), hint);
}

Result<void> MigCalls::check(const char* function, Return result) {
  if (result == kSuccess) return {};
  return error(function, result);
}

template <class Handle, class Owner>
Result<std::vector<Handle>> MigCalls::list(
    const Function<Return(Owner, unsigned, Handle*, unsigned*)>& of, Owner owner,
    const Profile& profile) {
  std::vector<Handle> handles(std::max<std::size_t>(kRoom, profile.instances));
  auto count = static_cast<unsigned>(handles.size());
  TRY(check(of.name, call_(of, owner, profile.id, handles.data(), &count)));
  handles.resize(std::min<std::size_t>(count, handles.size()));
  return handles;
}

Result<void> MigCalls::find(const gpu::GpuUuid& uuid) {
  const auto& lookup = api_.nvmlDeviceGetHandleByUUID;
  const Return result = call_(lookup, uuid.value.c_str(), &device_);
  if (result == kInvalidArgument || result == kGpuNotFound) {
    return fail(Code::kNotFound, call_.describe(lookup.name, result));
  }
  return check(lookup.name, result);
}

Result<std::pair<bool, bool>> MigCalls::mode() {
  unsigned current = 0;
  unsigned pending = 0;
  const auto& function = api_.nvmlDeviceGetMigMode;
  TRY(check(function.name, call_(function, device_, &current, &pending)));
  return std::pair(current == kMigEnabled, pending == kMigEnabled);
}

Result<void> MigCalls::need_mode() {
  ASSIGN_OR_RETURN(const auto now, mode());
  if (now.first) return {};
  return fail(Code::kFailedPrecondition, "MIG mode is off");
}

Result<gpu::MigState> MigCalls::read() {
  ASSIGN_OR_RETURN(const auto now, mode());
  gpu::MigState state = {.enabled = now.first, .pending = now.second, .instances = {}};
  if (!state.enabled) return state;
  ASSIGN_OR_RETURN(state.instances, instances());
  return state;
}

Result<std::vector<MigCalls::Profile>> MigCalls::profiles() {
  const auto& function = api_.nvmlDeviceGetGpuInstanceProfileInfo;
  std::vector<Profile> found;
  for (unsigned constant = 0; constant < kGpuInstanceProfiles; ++constant) {
    GpuInstanceProfileInfo info = {};
    const Return result = call_(function, device_, constant, &info);
    if (is_unknown_profile(result)) continue;
    TRY(check(function.name, result));
    found.push_back({.id = info.id, .slices = info.slices, .instances = info.instances});
  }
  return found;
}

Result<unsigned> MigCalls::size_of(unsigned profile_id) {
  std::vector<Placement> places(kRoom);
  auto count = static_cast<unsigned>(places.size());
  const auto& function = api_.nvmlDeviceGetGpuInstancePossiblePlacements_v2;
  TRY(check(function.name, call_(function, device_, profile_id, places.data(), &count)));
  if (count == 0) {
    return fail(Code::kInvalidArgument, fmt::format("profile {} has no place", profile_id));
  }
  return places.front().size;
}

Result<std::vector<gpu::GpuInstance>> MigCalls::instances() {
  ASSIGN_OR_RETURN(const auto known, profiles());
  std::vector<gpu::GpuInstance> all;
  for (const Profile& profile : known) {
    ASSIGN_OR_RETURN(const auto handles, list(api_.nvmlDeviceGetGpuInstances, device_, profile));
    for (GpuInstance handle : handles) {
      ASSIGN_OR_RETURN(auto instance, describe(handle));
      all.push_back(std::move(instance));
    }
  }
  std::ranges::sort(all, {}, [](const gpu::GpuInstance& one) { return one.placement; });
  return all;
}

Result<gpu::GpuInstance> MigCalls::describe(GpuInstance handle) {
  GpuInstanceInfo info = {};
  const auto& function = api_.nvmlGpuInstanceGetInfo;
  TRY(check(function.name, call_(function, handle, &info)));
  ASSIGN_OR_RETURN(auto compute, compute_instances(handle));
  return gpu::GpuInstance{.id = static_cast<int>(info.id),
                          .profile_id = static_cast<int>(info.profile_id),
                          .placement = {.start = static_cast<int>(info.placement.start),
                                        .size = static_cast<int>(info.placement.size)},
                          .compute = std::move(compute)};
}

Result<std::vector<MigCalls::Profile>> MigCalls::compute_profiles(GpuInstance handle) {
  const auto& function = api_.nvmlGpuInstanceGetComputeInstanceProfileInfo;
  std::vector<Profile> found;
  std::set<unsigned> ids;
  for (unsigned constant = 0; constant < kComputeInstanceProfiles; ++constant) {
    ComputeInstanceProfileInfo info = {};
    const Return result = call_(function, handle, constant, kSharedEngines, &info);
    if (is_unknown_profile(result)) continue;
    TRY(check(function.name, result));
    if (!ids.insert(info.id).second) continue;
    found.push_back({.id = info.id, .slices = info.slices, .instances = info.instances});
  }
  return found;
}

Result<std::vector<gpu::ComputeInstance>> MigCalls::compute_instances(GpuInstance handle) {
  ASSIGN_OR_RETURN(const auto known, compute_profiles(handle));
  std::vector<gpu::ComputeInstance> all;
  for (const Profile& profile : known) {
    ASSIGN_OR_RETURN(const auto handles,
                     list(api_.nvmlGpuInstanceGetComputeInstances, handle, profile));
    for (ComputeInstance one : handles) {
      ASSIGN_OR_RETURN(const auto info, info_of(one));
      all.push_back({.id = static_cast<int>(info.id),
                     .slices = static_cast<int>(profile.slices),
                     .start = static_cast<int>(info.placement.start)});
    }
  }
  std::ranges::sort(all, {}, &gpu::ComputeInstance::start);
  return all;
}

Result<ComputeInstanceInfo> MigCalls::info_of(ComputeInstance handle) {
  ComputeInstanceInfo info = {};
  const auto& function = api_.nvmlComputeInstanceGetInfo_v2;
  TRY(check(function.name, call_(function, handle, &info)));
  return info;
}

Result<gpu::MigControl::Activation> MigCalls::set_mode(bool enabled) {
  using Activation = gpu::MigControl::Activation;
  ASSIGN_OR_RETURN(const auto now, mode());
  if (now.first && !enabled) {
    ASSIGN_OR_RETURN(const auto present, instances());
    if (!present.empty()) {
      return fail(Code::kFailedPrecondition,
                  fmt::format("the GPU holds {} MIG instances", present.size()),
                  "destroy them first");
    }
  }
  Return status = kSuccess;
  const auto& function = api_.nvmlDeviceSetMigMode;
  const Return result = call_(function, device_, static_cast<unsigned>(enabled ? 1 : 0), &status);
  // A driver tells of processes that use the GPU in either of the two.
  if (result != kSuccess && result != kInUse) return error(function.name, result);
  if (result == kInUse || status == kInUse) return Activation::kInUse;
  if (status == kSuccess) return Activation::kInForce;
  // "On certain platforms like pass-through virtualization, where reset functionality may not be
  // exposed directly, VM reboot is required": drivers answer so with either of these.
  if (status == kResetRequired) return Activation::kNeedsReset;
  if (status == kNotSupported) return Activation::kNeedsReboot;
  return error(function.name, status);
}

Result<int> MigCalls::create_gpu_instance(unsigned profile_id, unsigned start) {
  TRY(need_mode());
  ASSIGN_OR_RETURN(const unsigned size, size_of(profile_id));
  const Placement place = {.start = start, .size = size};
  GpuInstance handle = nullptr;
  const auto& placed = api_.nvmlDeviceCreateGpuInstanceWithPlacement;
  const Return result = call_(placed, device_, profile_id, &place, &handle);
  if (result != kFunctionNotFound) {
    TRY(check(placed.name, result));
  } else {
    const auto& anywhere = api_.nvmlDeviceCreateGpuInstance;
    TRY(check(anywhere.name, call_(anywhere, device_, profile_id, &handle)));
  }
  ASSIGN_OR_RETURN(const auto made, describe(handle));
  if (std::cmp_equal(made.placement.start, start)) return made.id;
  // An old driver, which places by itself.
  const auto& destroy = api_.nvmlGpuInstanceDestroy;
  TRY(check(destroy.name, call_(destroy, handle)));
  return fail(
      Code::kInvalidArgument,
      fmt::format("the driver places it at {} and takes no other place", made.placement.start),
      "use a newer driver");
}

Result<GpuInstance> MigCalls::gpu_instance(unsigned id) {
  TRY(need_mode());
  GpuInstance handle = nullptr;
  const auto& function = api_.nvmlDeviceGetGpuInstanceById;
  const Return result = call_(function, device_, id, &handle);
  if (result == kInvalidArgument) {
    return fail(Code::kNotFound, call_.describe(function.name, result));
  }
  TRY(check(function.name, result));
  return handle;
}

Result<gpu::ComputeInstance> MigCalls::place_compute(GpuInstance owner, const Profile& profile,
                                                     unsigned start) {
  const Placement place = {.start = start, .size = profile.slices};
  ComputeInstance handle = nullptr;
  const auto& placed = api_.nvmlGpuInstanceCreateComputeInstanceWithPlacement;
  const Return result = call_(placed, owner, profile.id, &place, &handle);
  if (result != kFunctionNotFound && result != kNotSupported) {
    TRY(check(placed.name, result));
  } else {
    const auto& anywhere = api_.nvmlGpuInstanceCreateComputeInstance;
    TRY(check(anywhere.name, call_(anywhere, owner, profile.id, &handle)));
  }
  ASSIGN_OR_RETURN(const auto info, info_of(handle));
  return gpu::ComputeInstance{.id = static_cast<int>(info.id),
                              .slices = static_cast<int>(profile.slices),
                              .start = static_cast<int>(info.placement.start)};
}

Result<int> MigCalls::create_compute_instance(unsigned gpu_instance_id, unsigned slices,
                                              unsigned start) {
  ASSIGN_OR_RETURN(GpuInstance owner, gpu_instance(gpu_instance_id));
  ASSIGN_OR_RETURN(auto known, compute_profiles(owner));
  std::erase_if(known, [&](const Profile& profile) { return profile.slices != slices; });
  Result<gpu::ComputeInstance> made =
      fail(Code::kInvalidArgument,
           fmt::format("there is no compute instance of {} slices in it", slices));
  // Where two profiles have that size, one of them is for this kind of GPU instance.
  for (const Profile& profile : known) {
    made = place_compute(owner, profile, start);
    if (made || made.error().code != Code::kUnsupported) break;
  }
  if (!made) return std::unexpected(made.error());
  if (std::cmp_equal(made->start, start)) return made->id;
  TRY(destroy_compute_instance(gpu_instance_id, static_cast<unsigned>(made->id)));
  return fail(Code::kInvalidArgument,
              fmt::format("the driver places it at {} and takes no other place", made->start),
              "use a newer driver");
}

Result<void> MigCalls::destroy_compute_instance(unsigned gpu_instance_id,
                                                unsigned compute_instance) {
  ASSIGN_OR_RETURN(GpuInstance owner, gpu_instance(gpu_instance_id));
  ComputeInstance handle = nullptr;
  const auto& lookup = api_.nvmlGpuInstanceGetComputeInstanceById;
  const Return found = call_(lookup, owner, compute_instance, &handle);
  if (found == kInvalidArgument) {
    return fail(Code::kNotFound, call_.describe(lookup.name, found));
  }
  TRY(check(lookup.name, found));
  const auto& destroy = api_.nvmlComputeInstanceDestroy;
  return check(destroy.name, call_(destroy, handle));
}

Result<void> MigCalls::destroy_gpu_instance(unsigned gpu_instance_id) {
  ASSIGN_OR_RETURN(GpuInstance handle, gpu_instance(gpu_instance_id));
  const auto& destroy = api_.nvmlGpuInstanceDestroy;
  return check(destroy.name, call_(destroy, handle));
}

}  // namespace tranche::nvml
