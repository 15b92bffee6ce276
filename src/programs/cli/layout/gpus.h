#pragma once
// Which GPU `tranche layout` plans for: a model of the table, or what this machine has.

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

// kUnsupported: there is no MIG; the hint says what shares the GPU instead. kInvalidArgument: the
// model is not known, or the machine has several and none was named. kUnavailable, kTimeout: no
// model was named, and there is no driver, or it does not answer.
Result<PlannedGpu> planned_gpu(const config::LayoutOptions& options);

// The driver's, else that of the table: an older driver does not tell places. Empty: no MIG.
gpu::MigGeometry geometry_of(const gpu::Gpu& gpu);

}  // namespace tranche::cli
