#pragma once
// How two GPUs of a machine are connected. Pure functions of the state.

#include <cstdint>

#include "sim/state/state.h"

namespace tranche::sim {

// NVML's topology level (0 same board, 10 PIX, 20 PXB, 30 PHB, 40 NODE, 50 SYS). A board, switch,
// switch group or host bridge that both name counts before the NUMA node.
std::uint32_t topology_level(const State& state, std::uint32_t a, std::uint32_t b);

// NVLinks between two GPUs; through NVSwitches every link of the one that has fewer.
std::uint32_t nvlinks_between(const State& state, std::uint32_t a, std::uint32_t b);

}  // namespace tranche::sim
