#pragma once
// The GPUs whose device nodes the driver's library has open in this process. The machine's state
// shows that to other processes (sim/gpu/uses.h), and a descriptor of a file
// <state>.nodes/dev/nvidia<n> represents each node, so that /proc/<pid>/fd shows them as on
// hardware.

#include <cstdint>
#include <vector>

#include "sim/state/owned_fd.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

// `gpus` as bits; `slot` is the process's own. If no file can be created, only the state has it.
std::vector<OwnedFd> open_gpus(const Simulation& sim, ProcessSlot& slot, std::uint64_t gpus);

}  // namespace tranche::sim
