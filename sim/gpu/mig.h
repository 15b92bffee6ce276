#pragma once
// MIG on the simulated machine besides its layout (sim/state/mig_layout.h): the devices that
// programs see, the mode, and what running processes prevent.
// Functions that change the state require the machine's lock (Simulation::Guard); the others may
// run concurrently.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/state/mig_layout.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

// Major number of the device nodes /dev/nvidia-caps/nvidia-cap<N>; dynamic on hardware, invented
// here.
inline constexpr unsigned kCapsMajor = 236;

// One MIG device: a compute instance in a GPU instance.
struct MigDevice {
  std::uint32_t gpu_instance = 0;
  std::uint32_t compute_instance = 0;
};

// In the order of ids, as nvmlDeviceGetMigDeviceHandleByIndex numbers them.
std::vector<MigDevice> mig_devices(const Gpu& gpu);
std::string mig_uuid(const Gpu& gpu, MigDevice device);
// "1c.2g.10gb", or "2g.10gb" if the compute instance takes the whole GPU instance.
std::string mig_profile_name(const State& state, const Gpu& gpu, MigDevice device);
// SMs of a compute instance of `slices` in an instance of `profile`.
std::uint32_t compute_sm(const Profile& profile, std::uint32_t slices);

// kFailedPrecondition while processes are on it; kNotFound.
Result<void> destroy_compute_instance(const Simulation& sim, Gpu& gpu, MigDevice device);

// Whose use of a GPU prevents a reset.
enum class Users {
  kThatCompute,
  kAll,  // also other processes that have NVML open, as with the driver
};

// Requests MIG on or off. The pending mode is set in any case; the result shows whether it is in
// effect: kFailedPrecondition while the GPU is in use, kUnsupported if it cannot be reset here.
// kNotFound: the model has no MIG (nothing is changed). `users` matter if the mode needs a
// reset.
Result<void> set_mig_mode(const Simulation& sim, Gpu& gpu, bool on,
                          Users users = Users::kThatCompute);
// A GPU reset: the pending mode takes effect, all instances are gone, a lost GPU is back, no
// recovery action is pending. kFailedPrecondition while processes use the GPU.
Result<void> reset_gpu(const Simulation& sim, Gpu& gpu, Users users = Users::kThatCompute);
// A machine reboot: like a reset, but the mode is off if it needs no reset (Hopper and newer do not
// keep it).
Result<void> reboot_gpu(const Simulation& sim, Gpu& gpu);

}  // namespace tranche::sim
