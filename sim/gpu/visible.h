#pragma once
// The part of the machine that a process sees: NVIDIA_VISIBLE_DEVICES, which on hardware the
// container runtime turns into device nodes. Read once, at nvmlInit. Values:
//   unset or `all`    everything
//   `none`            the driver, no GPU
//   `void`, empty     the GPUs and MIG devices whose device nodes exist: what a CDI runtime put
//                     into the container (on a plain host usually none)
//   a list            GPU and MIG UUIDs, indices, `gpu:mig` index pairs; unknown items match no
//                     device
//   /var/run/nvidia-container-devices
//                     the names in that folder are the list

#include <bitset>
#include <cstdint>
#include <string>

#include "base/fs.h"
#include "sim/state/state.h"

namespace tranche::sim {

struct Visible {
  bool everything = true;
  std::bitset<kMaxGpus> gpus;   // visible at all
  std::bitset<kMaxGpus> whole;  // with all MIG devices
  std::bitset<std::size_t{kMaxGpuInstances} * kMaxComputeInstances> mig[kMaxGpus] = {};

  bool shows(std::uint32_t gpu) const { return everything || gpus[gpu]; }
  bool shows(std::uint32_t gpu, std::uint32_t gpu_instance, std::uint32_t compute_instance) const {
    return everything || whole[gpu] ||
           mig[gpu][gpu_instance * kMaxComputeInstances + compute_instance];
  }
};

// `value` is the variable, nullptr if unset. `files` contains /dev and /var/run.
Visible read_visible(const State& state, const char* value, const FsRoot& files);
// The minor number of a MIG capability under /dev/nvidia-caps; without `compute_instance` the GPU
// instance's own. Numbering as in the driver: 135 for each GPU and 9 for each GPU instance.
std::uint32_t capability_minor(std::uint32_t gpu_minor, std::uint32_t gpu_instance,
                               std::uint32_t compute_instance = kNone);

}  // namespace tranche::sim
