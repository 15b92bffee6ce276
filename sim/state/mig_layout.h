#pragma once
// MIG's geometry in the state: profiles, placements, instances. The hardware's rules: an instance
// takes `size` memory slices at one of its profile's starts, no two overlap, the total of compute
// slices and engines (decoders, encoders, JPEG, OFA) is at most the GPU's, and some profiles exist
// only once.
// Functions that change the state require the machine's lock (Simulation::Guard); the others may
// run concurrently.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/state/state.h"

namespace tranche::sim {

inline bool is_used(const GpuInstance& instance) {
  return instance.used.load(std::memory_order_acquire) != 0;
}
inline bool is_used(const ComputeInstance& instance) {
  return instance.used.load(std::memory_order_acquire) != 0;
}

const Profile* profile_by_constant(const Model& model, std::uint32_t constant);
const Profile* profile_by_id(const Model& model, std::uint32_t id);
const Profile* profile_by_name(const Model& model, std::string_view name);
// The profile from which GPU instance `instance` was created.
const Profile& profile_of(const State& state, const Gpu& gpu, const GpuInstance& instance);

// Starts at which `profile` fits next to the current instances, ascending. Empty if it does not.
std::vector<std::uint32_t> free_starts(const State& state, const Gpu& gpu, const Profile& profile);
// How many more of `profile` fit.
std::uint32_t remaining_capacity(const State& state, const Gpu& gpu, const Profile& profile);

// Returns the new GPU instance's id. Without `start` the highest free one, like the driver.
// kUnsupported: MIG is off; kInvalidArgument: not a start of this profile; kUnavailable: no room.
Result<std::uint32_t> create_gpu_instance(State& state, Gpu& gpu, const Profile& profile,
                                          std::optional<std::uint32_t> start);
// Returns the new compute instance's id. kInvalidArgument: no such size or start; kUnavailable: no
// room.
Result<std::uint32_t> create_compute_instance(State& state, Gpu& gpu, std::uint32_t gpu_instance,
                                              std::uint32_t slices,
                                              std::optional<std::uint32_t> start);
// kFailedPrecondition while it contains compute instances; kNotFound.
Result<void> destroy_gpu_instance(Gpu& gpu, std::uint32_t gpu_instance);

}  // namespace tranche::sim
