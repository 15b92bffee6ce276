#pragma once
// The initial content of a shared state, from a machine's description.

#include "base/result.h"
#include "sim/machine/machine.h"
#include "sim/state/state.h"

namespace tranche::sim {

// Fills the machine part of `state`, which must be all zero. kInvalidArgument for errors that only
// show during assembly: an unknown model, too many GPUs, MIG instances that do not fit.
Result<void> build_state(const MachineSpec& spec, State& state);

}  // namespace tranche::sim
