#pragma once
// Port: reads and changes the MIG instances of GPUs. Adapter: nvml/mig_control.h. Fake:
// tests/support/fake_mig_control.h. The caller must be root. On a node in use, only a layout change
// (mig/) calls the functions that change anything.
//
// Error codes, besides kUnavailable (no driver, or an internal NVML error) and kTimeout (NVML has
// not returned; the operation may or may not have happened, so read again):
//   kNotFound            no such GPU or instance
//   kPermission          not allowed: needs root and /proc/driver/nvidia/capabilities
//   kUnsupported         the GPU has no MIG, or the driver lacks the function
//   kFailedPrecondition  a process uses the instance or the GPU; or MIG mode is off
//   kInvalidArgument     the profile does not fit there

#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/ids.h"
#include "gpu/mig_profile.h"

namespace tranche::gpu {

struct ComputeInstance {
  int id = 0;
  int slices = 0;
  int start = 0;  // compute slice within the GPU instance
  auto operator<=>(const ComputeInstance&) const = default;
};

struct GpuInstance {
  int id = 0;
  int profile_id = 0;  // GpuInstanceProfile::id
  Placement placement;
  std::vector<ComputeInstance> compute;  // by start
  bool operator==(const GpuInstance&) const = default;
};

// How one GPU is partitioned, including GPU instances without compute instances: those are not MIG
// devices, so Machine does not list them.
struct MigState {
  bool enabled = false;  // the current mode
  bool pending = false;  // the mode after the next reset; equals `enabled` if no change is pending
  std::vector<GpuInstance> instances;  // by start
  // The GPU is passed through to this virtual machine. Few hypervisors let a guest reset it, so
  // where its mode needs a reset it most likely takes effect only at a reboot:
  // MigControl::set_mode() knows.
  bool passed_through = false;
  bool operator==(const MigState&) const = default;
};

class MigControl {
 public:
  virtual ~MigControl() = default;

  virtual Result<MigState> read(const GpuUuid& gpu) = 0;

  // The outcome of a mode change.
  enum class Activation {
    kInForce,
    kNeedsReset,   // pending; takes effect at a GPU reset
    kInUse,        // pending; processes use the GPU, so it was not reset
    kNeedsReboot,  // pending; the GPU cannot be reset here (passed through to this machine)
  };
  // All instances must have been destroyed first (kFailedPrecondition).
  virtual Result<Activation> set_mode(const GpuUuid& gpu, bool enabled) = 0;

  // Return the id of the new instance.
  virtual Result<int> create_gpu_instance(const GpuUuid& gpu, int profile_id, int start) = 0;
  virtual Result<int> create_compute_instance(const GpuUuid& gpu, int gpu_instance, int slices,
                                              int start) = 0;
  // kFailedPrecondition: a process uses it. A GPU instance must have no compute instances left.
  virtual Result<void> destroy_compute_instance(const GpuUuid& gpu, int gpu_instance,
                                                int compute_instance) = 0;
  virtual Result<void> destroy_gpu_instance(const GpuUuid& gpu, int gpu_instance) = 0;
};

// Port: resets a GPU. NVML has no such call; the adapter runs the driver's `nvidia-smi -r -i`
// (agent/mig/, cli/). Every program that has the GPU open must have closed it first.
class GpuReset {
 public:
  virtual ~GpuReset() = default;
  // kFailedPrecondition: a process has the GPU open; kUnsupported: it cannot be reset on this
  // machine (passed through, or linked to GPUs that were not named too); kNotFound: no nvidia-smi;
  // kTimeout; kUnavailable: nvidia-smi printed another error, which is in the message.
  virtual Result<void> reset(const PciAddress& gpu) = 0;
};

}  // namespace tranche::gpu
