#include "nvml/mig_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nvml/mig_geometry.h"

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
  driver_gone_ = driver_gone_ || is_driver_gone(result);
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

// If this is unknown, bare metal is assumed: then the driver reports it when it matters.
bool MigCalls::passed_through() {
  unsigned mode = kNotVirtualized;
  const Return result = call_(api_.nvmlDeviceGetVirtualizationMode, device_, &mode);
  return result == kSuccess && mode == kPassedThrough;
}

Result<void> MigCalls::need_mode() {
  ASSIGN_OR_RETURN(const auto now, mode());
  if (now.first) return {};
  return fail(Code::kFailedPrecondition, "MIG mode is off");
}

Result<gpu::MigState> MigCalls::read() {
  ASSIGN_OR_RETURN(const auto now, mode());
  gpu::MigState state = {.enabled = now.first,
                         .pending = now.second,
                         .instances = {},
                         .passed_through = passed_through()};
  if (!state.enabled) return state;
  auto found = instances();
  if (found) {
    state.instances = *std::move(found);
    return state;
  }
  // It has MIG, as its mode says. Who turns that off meanwhile makes these calls unsupported.
  auto error = std::move(found).error();
  if (error.code == Code::kUnsupported) error.code = Code::kUnavailable;
  return std::unexpected(std::move(error));
}

// The caller has an instance to look up, so no profile at all is not a valid answer.
template <class Info, class Ask>
Result<std::vector<MigCalls::Profile>> MigCalls::profiles_by(const char* function,
                                                             unsigned constants, const Ask& ask) {
  std::vector<Profile> found;
  for (unsigned constant = 0; constant < constants; ++constant) {
    Info info = {};
    const Return result = ask(constant, &info);
    if (is_unknown_profile(result)) continue;
    TRY(check(function, result));
    if (std::ranges::find(found, info.id, &Profile::id) != found.end()) continue;
    found.push_back({.id = info.id, .slices = info.slices, .instances = info.instances});
  }
  if (!found.empty()) return found;
  return fail(Code::kUnavailable, fmt::format("{}: it knows no profile", function),
              "see that no other program changes the GPU");
}

Result<std::vector<MigCalls::Profile>> MigCalls::profiles() {
  const auto& function = api_.nvmlDeviceGetGpuInstanceProfileInfo;
  return profiles_by<GpuInstanceProfileInfo>(
      function.name, kGpuInstanceProfiles,
      [&](unsigned constant, auto* info) { return call_(function, device_, constant, info); });
}

Result<std::vector<MigCalls::Profile>> MigCalls::compute_profiles(GpuInstance handle) {
  const auto& function = api_.nvmlGpuInstanceGetComputeInstanceProfileInfo;
  return profiles_by<ComputeInstanceProfileInfo>(
      function.name, kComputeInstanceProfiles, [&](unsigned constant, auto* info) {
        return call_(function, handle, constant, kSharedEngines, info);
      });
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
  TRY(check_place(function.name, info.placement));
  ASSIGN_OR_RETURN(auto compute, compute_instances(handle));
  return gpu::GpuInstance{.id = static_cast<int>(info.id),
                          .profile_id = static_cast<int>(info.profile_id),
                          .placement = {.start = static_cast<int>(info.placement.start),
                                        .size = static_cast<int>(info.placement.size)},
                          .compute = std::move(compute)};
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

}  // namespace tranche::nvml
