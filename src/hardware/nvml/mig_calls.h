#pragma once
// The NVML calls that a MIG layout change makes for one GPU, on a pool thread. Errors have the
// codes of gpu/mig_control.h, and name the NVML function and its result.

#include <functional>
#include <string>
#include <vector>

#include "gpu/mig_control.h"
#include "nvml/calls.h"

namespace tranche::nvml {

class MigCalls {
 public:
  explicit MigCalls(Calls& call) : call_(call), api_(call.api()) {}

  // Call this first. kNotFound: no such GPU.
  Result<void> find(const gpu::GpuUuid& uuid);

  Result<gpu::MigState> read();
  Result<gpu::MigControl::Activation> set_mode(bool enabled);
  Result<int> create_gpu_instance(unsigned profile_id, unsigned start);
  Result<int> create_compute_instance(unsigned gpu_instance, unsigned slices, unsigned start);
  Result<void> destroy_compute_instance(unsigned gpu_instance, unsigned compute_instance);
  Result<void> destroy_gpu_instance(unsigned gpu_instance);

  // Whether NVML must be reinitialised.
  bool driver_gone() const { return driver_gone_; }

 private:
  struct Profile {
    unsigned id = 0;
    unsigned slices = 0;
    unsigned instances = 0;
  };

  // kUnsupported: no MIG. {current, pending}.
  Result<std::pair<bool, bool>> mode();
  bool passed_through();
  // kFailedPrecondition: MIG mode is off.
  Result<void> need_mode();
  // `ask` fills in NVML's information about a constant's profile.
  template <class Info, class Ask>
  Result<std::vector<Profile>> profiles_by(const char* function, unsigned constants,
                                           const Ask& ask);
  Result<std::vector<Profile>> profiles();
  Result<unsigned> size_of(unsigned profile_id);
  Result<std::vector<gpu::GpuInstance>> instances();
  Result<gpu::GpuInstance> describe(GpuInstance handle);
  Result<std::vector<Profile>> compute_profiles(GpuInstance handle);
  Result<std::vector<gpu::ComputeInstance>> compute_instances(GpuInstance handle);
  Result<GpuInstance> gpu_instance(unsigned id);
  Result<gpu::ComputeInstance> place_compute(GpuInstance owner, const Profile& profile,
                                             unsigned start);
  Result<ComputeInstanceInfo> info_of(ComputeInstance handle);

  // The error for a call that did not return kSuccess.
  std::unexpected<Error> error(const char* function, Return result);
  Result<void> check(const char* function, Return result);
  // For listing functions that write at most `room` handles.
  template <class Handle, class Owner>
  Result<std::vector<Handle>> list(const Function<Return(Owner, unsigned, Handle*, unsigned*)>& of,
                                   Owner owner, const Profile& profile);

  Calls& call_;
  const Api& api_;
  Device device_ = nullptr;
  bool driver_gone_ = false;
};

}  // namespace tranche::nvml
