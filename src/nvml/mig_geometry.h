#pragma once
// Reads what one GPU can be cut into, on a thread of the pool.

#include "base/result.h"
#include "gpu/machine.h"
#include "nvml/calls.h"

namespace tranche::nvml {

// The GPU instance profiles that the driver offers for a GPU, in NVML's order; gpu.name and
// gpu.memory must be set. Drivers may tell where instances begin only while MIG mode is on: before,
// that is taken from the model's table (gpu/mig_tables.h), or is unknown (no starts).
// kUnavailable: a call failed, so profiles are missing.
Result<gpu::MigGeometry> read_mig_geometry(Calls& call, Device device, const gpu::Gpu& gpu);

}  // namespace tranche::nvml
