#pragma once
// Port: reads and changes the MIG instances of GPUs. Adapter: nvml/mig_control.h. Fake:
// tests/support/fake_mig_control.h. The caller needs root; on a node that is in use, only the
// change of a layout (mig/) calls what changes something.
//
// Codes of failures, besides kUnavailable (no driver, or NVML's own trouble) and kTimeout (NVML has
// not returned; whether it did what was asked is not known, so read again):
//   kNotFound            no such GPU or instance
//   kPermission          this process may not: it needs root and /proc/driver/nvidia/capabilities
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

// What one GPU is cut into, GPU instances without compute instances included: those are no MIG
// devices, and Machine does not have them.
struct MigState {
  bool enabled = false;  // the mode in force
  bool pending = false;  // the mode after the next reset; as `enabled` where no change is pending
  std::vector<GpuInstance> instances;  // by start
  // Passed through to this virtual machine. Few hypervisors let it be reset from within, so where
  // its mode needs a reset it most likely comes with a reboot alone: MigControl::set_mode() knows.
  bool passed_through = false;
  bool operator==(const MigState&) const = default;
};

class MigControl {
 public:
  virtual ~MigControl() = default;

  virtual Result<MigState> read(const GpuUuid& gpu) = 0;

  // What became of a wish for another mode.
  enum class Activation {
    kInForce,
    kNeedsReset,   // pending; a GPU reset puts it in force
    kInUse,        // pending; processes use the GPU, so it was not reset
    kNeedsReboot,  // pending; nothing can reset the GPU here (passed through to this machine)
  };
  // Instances must have been destroyed before (kFailedPrecondition).
  virtual Result<Activation> set_mode(const GpuUuid& gpu, bool enabled) = 0;

  // Return the new instance's id.
  virtual Result<int> create_gpu_instance(const GpuUuid& gpu, int profile_id, int start) = 0;
  virtual Result<int> create_compute_instance(const GpuUuid& gpu, int gpu_instance, int slices,
                                              int start) = 0;
  // kFailedPrecondition: a process uses it. A GPU instance must have no compute instances.
  virtual Result<void> destroy_compute_instance(const GpuUuid& gpu, int gpu_instance,
                                                int compute_instance) = 0;
  virtual Result<void> destroy_gpu_instance(const GpuUuid& gpu, int gpu_instance) = 0;
};

// Port: resets a GPU. NVML has no such call; the adapter runs the driver's `nvidia-smi -r -i`
// (agent/mig/, cli/). Every program that has the GPU open must have let go of it before.
class GpuReset {
 public:
  virtual ~GpuReset() = default;
  // kFailedPrecondition: a process has the GPU open; kUnsupported: it cannot be reset on this
  // machine (passed through, or linked to GPUs that were not named too); kNotFound: no nvidia-smi;
  // kTimeout; kUnavailable: nvidia-smi said something else, which is in the message.
  virtual Result<void> reset(const PciAddress& gpu) = 0;
};

}  // namespace tranche::gpu
