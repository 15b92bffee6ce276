#pragma once
// Which devices leave service while a layout is changed: of the GPUs that change, everything except
// the GPU instances in both layouts; and the GPUs that share an MPS control daemon with them
// (agent/mig/mig_neighbours.h). Used for withholding and for waiting until nobody holds them.

#include <map>
#include <set>
#include <string>

#include "agent/hardware/leaving.h"
#include "agent/loop/state.h"
#include "cluster/pod_resources.h"
#include "gpu/machine.h"
#include "gpu/mig_control.h"
#include "mig/journal.h"
#include "offer/offer.h"

namespace tranche::agent {

using MigStates = std::map<gpu::GpuUuid, gpu::MigState>;

mig::Layout layouts_of(const MigStates& states);

// The present states of the layout's GPUs. Unreadable GPUs are left out.
MigStates read_states(gpu::MigControl& control, const mig::Layout& of);

// GPUs missing in `states` leave service entirely.
MigStanding changing(const mig::Journal& journal, const MigStates& states);

// A stage: what leaves service stays listed, and is not handed out.
offer::Offer withhold_what_changes(const State& state, offer::Offer offer);

}  // namespace tranche::agent
