#pragma once
// How two GPUs of a machine are connected. Pure functions of the state.

#include <cstdint>

#include "sim/state/state.h"

namespace tranche::sim {

// NVML's topology level (0 same board, 10 PIX, 20 PXB, 30 PHB, 40 NODE, 50 SYS). A common board,
// switch, switch group or host bridge takes precedence over the NUMA node.
std::uint32_t topology_level(const State& state, std::uint32_t a, std::uint32_t b);

// The target of a link, up or down.
Remote remote_of(const Link& link);
bool is_up(const Link& link);
// Sets all NVLinks of a GPU, even while others read them. Those of the GPUs at the other ends are
// unchanged, as reported by a driver that has not noticed.
void set_links_up(Gpu& gpu, bool up);

// The number of NVLinks between two GPUs that are up; through NVSwitches the smaller of the two
// GPUs' numbers.
std::uint32_t nvlinks_between(const State& state, std::uint32_t a, std::uint32_t b);

}  // namespace tranche::sim
