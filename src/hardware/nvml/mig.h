#pragma once
// Reads the MIG instances of one GPU on a pool thread.

#include <optional>
#include <string>
#include <vector>

#include "gpu/machine.h"
#include "gpu/sysfs.h"
#include "nvml/calls.h"

namespace tranche::nvml {

// Fills gpu.mig_instances, in the order of slots; gpu.uuid, index, minor, memory
// and mig_geometry must be set.
// An instance unchanged since `known` takes its profile from there. If an instance cannot be
// described, its description in `known` is kept, or the instance is omitted; `warnings` gets a
// line. Returns the reason if the GPU is gone; else nullopt.
std::optional<std::string> read_mig_instances(Calls& call, Device device,
                                              const std::vector<gpu::MigInstance>& known,
                                              const gpu::MigMinors& minors, gpu::Gpu& gpu,
                                              std::vector<std::string>& warnings);

}  // namespace tranche::nvml
