#pragma once
// Joint tenants: several shares of one GPU for the same containers of one Pod, by one claim or by
// several. A container can only be one tenant on a GPU, so it is limited to the sum of its shares
// there. Pure. Rationale: docs/decisions/0043-joint-shares.md.

#include <string>
#include <vector>

#include "cluster/pod.h"
#include "dra/prepared.h"
#include "values/limits.h"

namespace tranche::dra {

// Whether a share of `claim` may be combined with another one, of the claim itself or of a prepared
// claim of the same Pod. If so, join_shares() needs the Pod.
bool may_join(const PreparedClaim& claim, const std::vector<PreparedClaim>& prepared);

// Gives each share of `claim` the tenant of an earlier share of the same GPU, in `prepared` or in
// the claim itself, that exactly the same containers of the Pod have. Shares of claims not created
// for the Pod stay separate: other Pods may use those.
void join_shares(PreparedClaim& claim, const std::vector<PreparedClaim>& prepared,
                 const cluster::Pod& pod);

// Whether both claims were reserved only for the same Pod.
bool are_of_one_pod(const PreparedClaim& a, const PreparedClaim& b);
// Whether a container of the Pod names the device, by its claim or request.
bool uses(const cluster::PodContainer& container, const PreparedClaim& claim,
          const PreparedDevice& device, const cluster::Pod& pod);

bool have_a_tenant_together(const PreparedClaim& a, const PreparedClaim& b);

// The tenant's total over all these claims; no devices: nothing.
GrantLimits joint_limits(const std::string& tenant, const std::vector<PreparedClaim>& claims);

// Adds a part of the same device. If one of them lacks a limit, so does the sum.
void add_part(DeviceLimits& sum, const DeviceLimits& part);

}  // namespace tranche::dra
