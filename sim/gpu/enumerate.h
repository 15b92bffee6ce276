#pragma once
// Which devices CUDA shows to this process, in which order.
//
// NVIDIA_VISIBLE_DEVICES says what is in the container (sim/gpu/visible.h). Of that CUDA enumerates
// the GPUs that are not in MIG mode, or, where there is a MIG device, one MIG device and no GPU
// (NVIDIA's MIG user guide). CUDA_VISIBLE_DEVICES chooses among them and orders them: indices, GPU
// UUIDs or the beginning of one, MIG UUIDs; what follows an item that names nothing is not seen,
// and a device named twice is an error that leaves none.

#include <vector>

#include "sim/gpu/uses.h"
#include "sim/state/state.h"

namespace tranche::sim {

std::vector<UseTarget> enumerate_devices(const State& state);

}  // namespace tranche::sim
