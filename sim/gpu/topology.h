#pragma once
// How two GPUs of a machine are connected. Pure functions of the state.

#include <cstdint>

#include "sim/state/state.h"

namespace tranche::sim {

// NVML's topology level (0 same board, 10 PIX, 20 PXB, 30 PHB, 40 NODE, 50 SYS). A board, switch,
// switch group or host bridge that both name counts before the NUMA node.
std::uint32_t topology_level(const State& state, std::uint32_t a, std::uint32_t b);

// Where a link leads, up or down.
Remote remote_of(const Link& link);
bool is_up(const Link& link);
// All NVLinks of a GPU, also while others read them. Those of the GPUs at their other ends stay as
// they are, as a driver that has not noticed tells them.
void set_links_up(Gpu& gpu, bool up);

// NVLinks between two GPUs that are up; through NVSwitches every link of the one that has fewer.
std::uint32_t nvlinks_between(const State& state, std::uint32_t a, std::uint32_t b);

}  // namespace tranche::sim
