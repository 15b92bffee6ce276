#pragma once
// Whether the containers of a claim can be clients of MPS. MPS limits are environment variables of
// a container, of which there is one each: one daemon, and one percentage of the multiprocessors
// for all GPUs. CDI does not merge variables: of two claims the last one wins. So all MPS devices
// of one container must have the same daemon and the same percentage. Pure. Rationale:
// docs/decisions/0044-ladder-of-claims.md.

#include <vector>

#include "base/result.h"
#include "cluster/pod.h"
#include "dra/prepared.h"

namespace tranche::dra {

// `prepared`: the other claims of the node. `pod`: the claim's, if known; null: everything that the
// Pod has by its claims counts as one container's. kInvalidArgument: a container cannot have this
// combination, with the remedy.
Result<void> check_mps_together(const PreparedClaim& claim,
                                const std::vector<PreparedClaim>& prepared,
                                const cluster::Pod* pod);

}  // namespace tranche::dra
