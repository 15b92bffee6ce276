#pragma once
// Reads how one GPU can be partitioned, on a pool thread.

#include "base/result.h"
#include "gpu/machine.h"
#include "nvml/calls.h"

namespace tranche::nvml {

// Validates NVML's values where they come in: searches and pictures rely on placements within a
// GPU. kUnavailable, naming the `function` that returned them.
Result<void> check_place(const char* function, const Placement& place);

// The GPU instance profiles that the driver offers for a GPU, in NVML's order; gpu.name and
// gpu.memory must be set. Drivers may report start positions only while MIG mode is on; before
// that, they come from the model's table (gpu/mig_tables.h) or are unknown (no starts).
// kUnavailable: a call failed, or an answer is implausible, so profiles are missing.
Result<gpu::MigGeometry> read_mig_geometry(Calls& call, Device device, const gpu::Gpu& gpu);

}  // namespace tranche::nvml
