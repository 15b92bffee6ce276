#pragma once
// A request for all devices (allocationMode: All) gets all or none. The scheduler of
// Kubernetes 1.36 leaves out shareable devices that have no room, and gives the rest; that of 1.37
// lets the Pod wait. Pure.

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/resource_claim.h"
#include "cluster/resource_slice.h"

namespace tranche::dra {

// Whether `claim` has all GPUs of `listed` that `request` and the `selectors` of its class match. A
// GPU matches if it differs from one that was given only in what no selector mentions: selectors
// are CEL, which only the scheduler evaluates. `given`: this driver's devices of this node, among
// them others than GPUs.
//
// kFailedPrecondition: some were left out.
Result<void> check_has_all(const cluster::RequestForAll& request,
                           const std::vector<std::string>& selectors,
                           const std::vector<cluster::AllocatedDevice>& given,
                           const std::vector<cluster::SliceDevice>& listed);

}  // namespace tranche::dra
