#pragma once
// Port: changes settings of a GPU. Adapter: nvml/control.h. The caller must be root.

#include <string>

#include "base/result.h"

namespace tranche::gpu {

// nvmlComputeMode_t: how many processes may have a context on a GPU.
enum class ComputeMode {
  kDefault = 0,           // any number of processes
  kExclusiveProcess = 3,  // one process; with MPS that is the server, which serves its clients
};

class Control {
 public:
  virtual ~Control() = default;

  // kPermission, kUnsupported, kNotFound (no such GPU), kUnavailable (no driver), kTimeout.
  virtual Result<void> set_compute_mode(const std::string& uuid, ComputeMode mode) = 0;
};

}  // namespace tranche::gpu
