#pragma once
// MIG's geometry in the state: profiles, placements, instances. The rules of the hardware: an
// instance takes `size` memory slices at one of its profile's starts, no two overlap, the compute
// slices and the engines (decoders, encoders, jpeg, OFA) of all together are at most the GPU's, and
// some profiles exist once.
// Functions that change the state want the machine's lock held (Simulation::Guard); the others may
// run beside them.

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
// The profile that GPU instance `instance` was made from.
const Profile& profile_of(const State& state, const Gpu& gpu, const GpuInstance& instance);

// Starts at which `profile` fits beside the instances of now, ascending. Empty when it does not.
std::vector<std::uint32_t> free_starts(const State& state, const Gpu& gpu, const Profile& profile);
// How many more of `profile` fit.
std::uint32_t remaining_capacity(const State& state, const Gpu& gpu, const Profile& profile);

// The new GPU instance's id. Without `start` the highest one that is free, as the driver does.
// kUnsupported: MIG is off; kInvalidArgument: not a start of this profile; kUnavailable: no room.
Result<std::uint32_t> create_gpu_instance(State& state, Gpu& gpu, const Profile& profile,
                                          std::optional<std::uint32_t> start);
// The new compute instance's id. kInvalidArgument: no such size or start; kUnavailable: no room.
Result<std::uint32_t> create_compute_instance(State& state, Gpu& gpu, std::uint32_t gpu_instance,
                                              std::uint32_t slices,
                                              std::optional<std::uint32_t> start);
// kFailedPrecondition while compute instances are in it; kNotFound.
Result<void> destroy_gpu_instance(Gpu& gpu, std::uint32_t gpu_instance);

}  // namespace tranche::sim
