#pragma once
// Which devices of a machine are there, by UUID. Pure.

#include <string>
#include <vector>

#include "gpu/machine.h"

namespace tranche::gpu {

// The GPU's devices that programs use: its MIG instances, or itself.
std::vector<std::string> used_devices(const Gpu& gpu);

// GPUs that are present.
std::vector<std::string> present_gpus(const Machine& machine);
// Devices that programs use, of GPUs that are present.
std::vector<std::string> present_devices(const Machine& machine);

}  // namespace tranche::gpu
