#pragma once
// Whether the new layout is in service: the driver lists its devices, the loop advertises them, MPS
// serves again, and kubelet offers them.

#include "agent/mig/mig_neighbours.h"
#include "agent/mig/mig_view.h"
#include "base/result.h"
#include "cluster/pod_resources.h"
#include "mig/journal.h"

namespace tranche::agent {

// kFailedPrecondition: what is not in service. kUnavailable: what has to come back first (kubelet,
// a control daemon). Asks kubelet last.
Result<void> verify(const mig::Journal& journal, const MigNeighbours& neighbours,
                    const MigView& view, cluster::PodResources& kubelet);

}  // namespace tranche::agent
