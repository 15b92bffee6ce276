#pragma once
// Joint tenants: several shares of one GPU for the same containers of one Pod, by one claim or by
// several. A container can be one tenant on a GPU, so it is held to the sum of its shares there.
// Pure. Why so: docs/decisions/0043-joint-shares.md.

#include <string>
#include <vector>

#include "cluster/pod.h"
#include "dra/prepared.h"
#include "values/limits.h"

namespace tranche::dra {

// Whether a share of `claim` may go together with another one: of itself, or of a prepared claim of
// the same Pod. If so, join_shares() needs the Pod.
bool may_join(const PreparedClaim& claim, const std::vector<PreparedClaim>& prepared);

// Gives each share of `claim` the tenant of an earlier share of the same GPU, in `prepared` or in
// the claim itself, that just the same containers of the Pod have. Shares of claims that were not
// made for the Pod stay apart: other Pods may use those.
void join_shares(PreparedClaim& claim, const std::vector<PreparedClaim>& prepared,
                 const cluster::Pod& pod);

// Whether both claims were reserved for the same Pod alone.
bool are_of_one_pod(const PreparedClaim& a, const PreparedClaim& b);
// Whether a container of the Pod names the device, by its claim or request.
bool uses(const cluster::PodContainer& container, const PreparedClaim& claim,
          const PreparedDevice& device, const cluster::Pod& pod);

bool have_a_tenant_together(const PreparedClaim& a, const PreparedClaim& b);

// What the tenant has by all these claims together; no devices: nothing.
GrantLimits joint_limits(const std::string& tenant, const std::vector<PreparedClaim>& claims);

// Adds a part of the same device. A limit that one of them does not have, the sum does not have.
void add_part(DeviceLimits& sum, const DeviceLimits& part);

}  // namespace tranche::dra
