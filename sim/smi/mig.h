#pragma once
// Shared parts of listing and changing MIG instances.

#include <string>
#include <utility>
#include <vector>

#include "sim/smi/smi.h"

namespace tranche::sim::smi {

using GpuProfile = nvmlGpuInstanceProfileInfo_v2_t;

std::vector<GpuProfile> profiles_of(nvmlDevice_t device);
std::vector<std::pair<nvmlGpuInstance_t, GpuProfile>> instances_of(const GpuRow& gpu);

std::vector<GpuRow> mig_enabled(const std::vector<GpuRow>& gpus);
// Prints that there are none; returns the exit code.
int no_mig_enabled();

}  // namespace tranche::sim::smi
