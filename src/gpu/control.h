#pragma once
// Port: changes the hardware's settings. Adapter: nvml/control.h. Needs root.

#include <string>

#include "base/result.h"

namespace tranche::gpu {

// nvmlComputeMode_t: who may have contexts on a GPU.
enum class ComputeMode {
  kDefault = 0,           // any number of processes
  kExclusiveProcess = 3,  // one: MPS' server, and its clients through it
};

class Control {
 public:
  virtual ~Control() = default;

  // kPermission, kUnsupported, kNotFound (no such GPU), kUnavailable (no driver), kTimeout.
  virtual Result<void> set_compute_mode(const std::string& uuid, ComputeMode mode) = 0;
};

}  // namespace tranche::gpu
