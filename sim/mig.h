#pragma once
// MIG on the simulated machine: profiles, placements, instances. The rules of the hardware: an
// instance takes `size` memory slices at one of its profile's starts, no two overlap, the compute
// slices of all together are at most the GPU's, and some profiles exist once.
// Functions that change the state want the machine's lock held (Simulation::Guard); the others may
// run beside them.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/simulation.h"

namespace tranche::sim {

// One MIG device: a compute instance in a GPU instance.
struct MigDevice {
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
};

const Profile* profile_by_constant(const Model& model, std::uint32_t constant);
const Profile* profile_by_id(const Model& model, std::uint32_t id);
const Profile* profile_by_name(const Model& model, std::string_view name);
// The profile that GPU instance `instance` was made from.
const Profile& profile_of(const State& state, const Gpu& gpu, const GpuInstance& instance);

// Starts at which `profile` fits beside the instances of now, ascending. Empty when it does not.
std::vector<std::uint32_t> free_starts(const State& state, const Gpu& gpu, const Profile& profile);
// How many more of `profile` fit.
std::uint32_t remaining_capacity(const State& state, const Gpu& gpu, const Profile& profile);

// In order of ids, as nvmlDeviceGetMigDeviceHandleByIndex numbers them.
std::vector<MigDevice> mig_devices(const Gpu& gpu);
std::string mig_uuid(const Gpu& gpu, MigDevice device);
// "1c.2g.10gb", or "2g.10gb" when the compute instance takes the whole GPU instance.
std::string mig_profile_name(const State& state, const Gpu& gpu, MigDevice device);
// SMs of a compute instance of `slices` in an instance of `profile`.
std::uint32_t compute_sm(const Profile& profile, std::uint32_t slices);

// The new GPU instance's id. Without `start` the highest one that is free, as the driver does.
// kUnsupported: MIG is off; kInvalidArgument: not a start of this profile; kUnavailable: no room.
Result<std::uint32_t> create_gpu_instance(State& state, Gpu& gpu, const Profile& profile,
                                          std::optional<std::uint32_t> start);
// The new compute instance's id. kInvalidArgument: no such size or start; kUnavailable: no room.
Result<std::uint32_t> create_compute_instance(State& state, Gpu& gpu, std::uint32_t gpu_instance,
                                              std::uint32_t slices,
                                              std::optional<std::uint32_t> start);
// kFailedPrecondition while compute instances are in it, or processes on it; kNotFound.
Result<void> destroy_gpu_instance(Gpu& gpu, std::uint32_t gpu_instance);
Result<void> destroy_compute_instance(const Simulation& sim, Gpu& gpu, MigDevice device);

// Asks for MIG on or off. The pending mode is set whatever comes; the result tells whether it is in
// force: kFailedPrecondition while the GPU is in use, kUnsupported when it cannot be reset here.
// kNotFound: the model has no MIG (nothing is changed).
Result<void> set_mig_mode(const Simulation& sim, Gpu& gpu, bool on);
// A GPU reset: the pending mode comes into force (changing it removes all instances), a lost GPU is
// back, nothing asks for recovery. kFailedPrecondition while processes use the GPU.
Result<void> reset_gpu(const Simulation& sim, Gpu& gpu);

}  // namespace tranche::sim
