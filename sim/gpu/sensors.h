#pragma once
// What a GPU's sensors and counters of wear show. They follow the load by simple rules: plausible,
// not measured.

#include <cstdint>

#include "sim/state/simulation.h"

namespace tranche::sim {

// Load of the newest complete window.
std::uint32_t load_permille(const Simulation& sim, std::uint32_t gpu);

// Power at a load: from the idle power to 90 % of the way to the limit.
std::uint32_t power_mw(const Model& model, std::uint32_t permille);
// The integral of that over time since the driver was loaded, in millijoules. Never decreases.
std::uint64_t energy_mj(const Simulation& sim, std::uint32_t gpu);

// Degrees Celsius.
std::uint32_t gpu_temperature(std::uint32_t permille);
std::uint32_t memory_temperature(std::uint32_t permille);
// Memory has a sensor where it is HBM.
bool has_memory_sensor(const Model& model);

// Rows are remapped since Ampere, with ECC; in MIG mode NVML does not tell of them.
bool tells_remapped_rows(const Model& model, const Gpu& gpu);

}  // namespace tranche::sim
