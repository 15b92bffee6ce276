// What changes something, of nvml/mig_calls.h.

#include <fmt/format.h>

#include <utility>

#include "nvml/mig_calls.h"
#include "nvml/mig_geometry.h"

namespace tranche::nvml {
namespace {

constexpr std::size_t kMostPlaces = 64;  // of a profile

}  // namespace

Result<unsigned> MigCalls::size_of(unsigned profile_id) {
  std::vector<Placement> places(kMostPlaces);
  auto count = static_cast<unsigned>(places.size());
  const auto& function = api_.nvmlDeviceGetGpuInstancePossiblePlacements_v2;
  TRY(check(function.name, call_(function, device_, profile_id, places.data(), &count)));
  if (count == 0) {
    return fail(Code::kInvalidArgument, fmt::format("profile {} has no place", profile_id));
  }
  TRY(check_place(function.name, places.front()));
  return places.front().size;
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
  // A driver may report processes that use the GPU by either of the two.
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
  // An old driver, which chooses the placement itself.
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
