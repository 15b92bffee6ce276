#pragma once
// The memory cost of a context's limits: its memory grows with them, and is freed when it ends.

#include "sim/cuda/modules.h"

namespace tranche::sim::cuda {

// Makes room for a launch of `function`: local memory for as many of its threads as the device runs
// concurrently, printf's buffer and the kernels' heap as configured. OUT_OF_MEMORY.
abi::CUresult grow_for(Context& context, const Function& function);

}  // namespace tranche::sim::cuda
