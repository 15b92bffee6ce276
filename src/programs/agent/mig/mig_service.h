#pragma once
// Which devices leave service while a layout is changed. The rule is the same for who hands them
// out (they are withheld) and for who waits until nobody holds them: of the GPUs that change,
// everything but the GPU instances that the old layout and the new one have in common; and the GPUs
// that share an MPS control daemon with them (agent/mig/mig_neighbours.h).

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

// What each GPU of a change has now.
using MigStates = std::map<gpu::GpuUuid, gpu::MigState>;

mig::Layout layouts_of(const MigStates& states);

// What the GPUs of the layout have now. A GPU that cannot be read is left out.
MigStates read_states(gpu::MigControl& control, const mig::Layout& of);

// `states` may lack GPUs: everything on these leaves service.
MigStanding changing(const mig::Journal& journal, const MigStates& states);

// The stage: what leaves service is listed, and not handed out.
offer::Offer withhold_what_changes(const State& state, offer::Offer offer);

}  // namespace tranche::agent
