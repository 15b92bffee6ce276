#pragma once
// Which claims keep a node from being cleared: their Pods end only when the agent has them undone.

#include <filesystem>
#include <set>
#include <string>

#include "base/result.h"
#include "cluster/objects.h"

namespace tranche::agent {

// What a cleanup does where claims are in use.
enum class Claims { kStop, kGoOn };

// By the API server: the claims that Pods have, with devices that an agent on one of these nodes
// publishes, under whatever name of the driver. kFailedPrecondition: there are some; it names
// nodes, claims and Pods. A cluster without claims has none.
Result<void> check_claims_of(cluster::Objects& objects, const std::set<std::string>& nodes,
                             const cluster::Call& call);

// By the records of this node's agent (dra/prepared.h). What cannot be read may be in use; what was
// prepared before this start of the machine is not.
Result<void> check_claims_here(const std::filesystem::path& state_dir, const std::string& boot);

}  // namespace tranche::agent
