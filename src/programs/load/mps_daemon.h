#pragma once
// Asks whether NVIDIA's MPS control daemon runs, by NVIDIA's own program, as NVIDIA's device plugin
// does.

#include "base/result.h"

namespace tranche::load {

// kFailedPrecondition: nvidia-cuda-mps-control is not on PATH, or no daemon answers it within 10 s.
Result<void> ask_mps_daemon();

}  // namespace tranche::load
