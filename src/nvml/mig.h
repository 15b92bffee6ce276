#pragma once
// Reads the MIG instances of one GPU on a thread of the pool.

#include <optional>
#include <string>
#include <vector>

#include "gpu/machine.h"
#include "gpu/sysfs.h"
#include "nvml/calls.h"

namespace tranche::nvml {

// Fills gpu.mig_instances (gpu.uuid, index, minor and memory must be set) by slot. Profiles of
// instances that are unchanged since `known` are taken from there. An instance that cannot be
// described stays as it is in `known`, or is left out, with a line in `warnings`. Returns why, when
// the GPU is gone.
std::optional<std::string> read_mig_instances(Calls& call, Device device,
                                              const std::vector<gpu::MigInstance>& known,
                                              const gpu::MigMinors& minors, gpu::Gpu& gpu,
                                              std::vector<std::string>& warnings);

}  // namespace tranche::nvml
