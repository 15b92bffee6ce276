#pragma once
// A GPU of tests/support/fake_mig_control.h and what its hardware allows. It follows the geometry:
// memory slices that do not overlap, compute slices, the most of a profile, engines if the geometry
// has them. Ids are the hardware's: they follow from size and place. No locks.

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "gpu/mig_control.h"

namespace tranche::test {

struct FakeMigGpu {
  gpu::PciAddress pci = {};
  gpu::MigGeometry geometry = {};  // empty: a GPU without MIG
  bool mode_needs_reset = false;   // as Ampere's
  // set_mode() resets an idle GPU itself, as the driver does. False: it leaves that to GpuReset.
  bool mode_resets_itself = true;
  bool no_reset = false;  // passed through to this machine
  // Compute instances begin only at multiples of their slices.
  bool compute_aligned = false;
  gpu::MigState state = {};

  bool held = false;                         // a process has the GPU itself open
  std::set<std::pair<int, int>> users = {};  // GPU instance, compute instance
  std::map<int, int> made = {};              // GPU instance: the number of its making

  using Activation = gpu::MigControl::Activation;

  Result<gpu::MigState> read() const {
    if (geometry.empty()) return no_mig();
    auto seen = state;
    seen.passed_through = no_reset;
    return seen;
  }

  Result<Activation> set_mode(bool enabled) {
    if (geometry.empty()) return no_mig();
    if (!state.instances.empty() && enabled != state.enabled) return in_use("a MIG instance");
    state.pending = enabled;
    if (state.enabled == enabled) return Activation::kInForce;
    if (in_use()) return Activation::kInUse;
    if (mode_needs_reset && no_reset) return Activation::kNeedsReboot;
    if (mode_needs_reset && !mode_resets_itself) return Activation::kNeedsReset;
    state.enabled = enabled;
    return Activation::kInForce;
  }

  Result<int> create(int profile_id, int start, int number) {
    if (geometry.empty()) return no_mig();
    if (!state.enabled) return fail(Code::kFailedPrecondition, "MIG mode is off");
    const auto* profile = find_profile(profile_id);
    if (profile == nullptr) return fail(Code::kInvalidArgument, "no such profile");
    if (const auto why = obstacle(*profile, start); !why.empty()) {
      return fail(Code::kInvalidArgument, "it does not fit there: " + why);
    }
    const int size = profile->memory_slices;
    const int id = geometry.memory_slices / size - 1 + start / size;
    state.instances.push_back(
        {.id = id, .profile_id = profile_id, .placement = {start, size}, .compute = {}});
    std::ranges::sort(state.instances, {},
                      [](const gpu::GpuInstance& one) { return one.placement; });
    made[id] = number;
    return id;
  }

  Result<int> create_in(int gpu_instance, int slices, int start) {
    auto* instance = find_instance(gpu_instance);
    if (instance == nullptr) return no_instance();
    const int whole = find_profile(instance->profile_id)->compute_slices;
    bool fits = (slices == whole || (slices >= 1 && slices <= 4)) && start >= 0 &&
                start + slices <= whole && (!compute_aligned || start % slices == 0);
    std::set<int> ids;
    for (const auto& other : instance->compute) {
      fits = fits && (start >= other.start + other.slices || other.start >= start + slices);
      ids.insert(other.id);
    }
    if (!fits) return fail(Code::kInvalidArgument, "no room for it there");
    int id = 0;
    while (ids.contains(id)) ++id;
    instance->compute.push_back({.id = id, .slices = slices, .start = start});
    std::ranges::sort(instance->compute, {}, &gpu::ComputeInstance::start);
    return id;
  }

  Result<void> destroy(int gpu_instance, int compute_instance) {
    auto* instance = find_instance(gpu_instance);
    if (instance == nullptr) return no_instance();
    const auto found =
        std::ranges::find(instance->compute, compute_instance, &gpu::ComputeInstance::id);
    if (found == instance->compute.end()) return no_instance();
    if (users.contains({gpu_instance, compute_instance})) return in_use("the instance");
    instance->compute.erase(found);
    return {};
  }

  Result<void> destroy(int gpu_instance) {
    auto* instance = find_instance(gpu_instance);
    if (instance == nullptr) return no_instance();
    if (!instance->compute.empty()) return in_use("the instance");
    std::erase_if(state.instances, [&](const auto& one) { return one.id == gpu_instance; });
    made.erase(gpu_instance);
    return {};
  }

  Result<void> reset() {
    if (no_reset) return fail(Code::kUnsupported, "it cannot be reset here");
    if (in_use()) return in_use("the GPU");
    state.enabled = state.pending;
    drop_instances();
    return {};
  }

  void reboot() {
    state.enabled = mode_needs_reset && state.pending;
    state.pending = state.enabled;
    drop_instances();
    held = false;
    users.clear();
  }

 private:
  bool in_use() const { return held || !users.empty(); }

  void drop_instances() {
    state.instances.clear();
    made.clear();
  }

  static std::unexpected<Error> no_mig() { return fail(Code::kUnsupported, "the GPU has no MIG"); }
  static std::unexpected<Error> in_use(const std::string& what) {
    return fail(Code::kFailedPrecondition, what + " is in use");
  }
  static std::unexpected<Error> no_instance() { return fail(Code::kNotFound, "no such instance"); }

  const gpu::GpuInstanceProfile* find_profile(int id) const {
    const auto found = std::ranges::find(geometry.profiles, id, &gpu::GpuInstanceProfile::id);
    return found == geometry.profiles.end() ? nullptr : &*found;
  }
  gpu::GpuInstance* find_instance(int id) {
    const auto found = std::ranges::find(state.instances, id, &gpu::GpuInstance::id);
    return found == state.instances.end() ? nullptr : &*found;
  }

  static std::array<int, 4> engines(const gpu::GpuInstanceProfile& profile) {
    if (!profile.attributes) return {};
    return {profile.attributes->decoders, profile.attributes->encoders,
            profile.attributes->jpeg_engines, profile.attributes->ofa_engines};
  }

  // Why an instance of `profile` cannot be made there; empty: it can.
  std::string obstacle(const gpu::GpuInstanceProfile& profile, int start) const {
    if (std::ranges::find(profile.starts, start) == profile.starts.end()) return "no such start";
    int compute = profile.compute_slices;
    int same = 1;
    auto used = engines(profile);
    for (const auto& instance : state.instances) {
      const auto& other = *find_profile(instance.profile_id);
      const auto& place = instance.placement;
      if (start < place.end() && place.start < start + profile.memory_slices) return "overlap";
      compute += other.compute_slices;
      same += other.id == profile.id ? 1 : 0;
      for (std::size_t i = 0; i < used.size(); ++i) used[i] += engines(other)[i];
    }
    if (compute > geometry.compute_slices) return "compute slices";
    if (same > profile.max_instances) return "too many of it";
    for (std::size_t i = 0; i < used.size(); ++i) {
      const bool enough = std::ranges::any_of(
          geometry.profiles, [&](const auto& other) { return engines(other)[i] >= used[i]; });
      if (!enough) return "engines";
    }
    return {};
  }
};

}  // namespace tranche::test
