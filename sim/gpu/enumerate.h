#pragma once
// Which devices CUDA shows to this process, in which order.
//
// NVIDIA_VISIBLE_DEVICES determines what is in the container (sim/gpu/visible.h). Among those CUDA
// enumerates the GPUs that are not in MIG mode or, if there is a MIG device, one MIG device and no
// GPU (NVIDIA's MIG user guide). CUDA_VISIBLE_DEVICES selects among them and orders them: indices,
// GPU UUIDs or a prefix of one, MIG UUIDs. Everything after an invalid item is invisible, and a
// device named twice is an error that leaves none.

#include <vector>

#include "sim/gpu/uses.h"
#include "sim/state/state.h"

namespace tranche::sim {

std::vector<UseTarget> enumerate_devices(const State& state);

}  // namespace tranche::sim
