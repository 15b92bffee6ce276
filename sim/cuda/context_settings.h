#pragma once
// What a context's limits cost: its memory grows with them, and is free when it ends.

#include "sim/cuda/modules.h"

namespace tranche::sim::cuda {

// Room for a launch of `function`: local memory for as many of its threads as the device runs at
// once, printf's buffer and the kernels' heap as they were set. OUT_OF_MEMORY.
abi::CUresult grow_for(Context& context, const Function& function);

}  // namespace tranche::sim::cuda
