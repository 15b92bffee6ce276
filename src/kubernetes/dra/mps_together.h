#pragma once
// Whether the containers of a claim can be clients of MPS. MPS is told what a process may use by
// variables of its container's environment, of which there is one of each: one daemon, and one
// percentage of the multiprocessors for all GPUs. CDI does not add variables up: of two claims' the
// last one counts. So what one container has together must be of one daemon and of one percentage.
// Pure. Why so: docs/decisions/0044-ladder-of-claims.md.

#include <vector>

#include "base/result.h"
#include "cluster/pod.h"
#include "dra/prepared.h"

namespace tranche::dra {

// `prepared`: the other claims of the node. `pod`: the claim's, where it is known; null: all that
// the Pod has by its claims counts as one container's. kInvalidArgument: a container cannot have
// what it has together, with the remedy.
Result<void> check_mps_together(const PreparedClaim& claim,
                                const std::vector<PreparedClaim>& prepared,
                                const cluster::Pod* pod);

}  // namespace tranche::dra
