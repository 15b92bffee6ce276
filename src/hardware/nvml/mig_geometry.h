#pragma once
// Reads what one GPU can be cut into, on a thread of the pool.

#include "base/result.h"
#include "gpu/machine.h"
#include "nvml/calls.h"

namespace tranche::nvml {

// NVML's word is checked where it comes in: searches and pictures count on places within a GPU.
// kUnavailable, naming the `function` that said it.
Result<void> check_place(const char* function, const Placement& place);

// The GPU instance profiles that the driver offers for a GPU, in NVML's order; gpu.name and
// gpu.memory must be set. Drivers may tell where instances begin only while MIG mode is on: before,
// that is taken from the model's table (gpu/mig_tables.h), or is unknown (no starts).
// kUnavailable: a call failed, or an answer cannot be true, so profiles are missing.
Result<gpu::MigGeometry> read_mig_geometry(Calls& call, Device device, const gpu::Gpu& gpu);

}  // namespace tranche::nvml
