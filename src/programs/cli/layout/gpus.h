#pragma once
// The GPU that `tranche layout` plans for: a model of the table, or this machine's.

#include <string>

#include "base/result.h"
#include "config/programs/layout_options.h"
#include "gpu/machine.h"
#include "gpu/mig_profile.h"

namespace tranche::cli {

struct PlannedGpu {
  std::string name;  // the model's key, or NVML's product name
  gpu::MigGeometry geometry;
};

// kUnsupported: no MIG; the hint says what shares the GPU instead. kInvalidArgument: an unknown
// model, or no model although the machine has several. kUnavailable, kTimeout: no model, and there
// is no driver, or it does not answer.
Result<PlannedGpu> planned_gpu(const config::LayoutOptions& options);

// From the driver, else from the table: older drivers do not report places. Empty: no MIG.
gpu::MigGeometry geometry_of(const gpu::Gpu& gpu);

}  // namespace tranche::cli
