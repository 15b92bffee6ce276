#pragma once
// NVIDIA's MPS control daemon, asked whether it is there: by its own program, as NVIDIA's device
// plugin does.

#include "base/result.h"

namespace tranche::load {

// kFailedPrecondition: there is no nvidia-cuda-mps-control on PATH, no daemon answers it, or not
// within 10 s.
Result<void> ask_mps_daemon();

}  // namespace tranche::load
