#pragma once
// Makes the offer as a pure function of a node's hardware, configuration and health: the same input
// always gives the same offer.

#include "base/result.h"
#include "config/config.h"
#include "gpu/health.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

// kFailedPrecondition, with NVIDIA's phrases: MIG strategy single on a machine whose MIG layout is
// not uniform.
//
// A resource with no device does not appear. These are warnings, not errors: a sharing entry for a
// resource that this node does not have; a device that two entries claim (the first entry has it);
// a device in a `devices` list that is not there; a GPU that was never read (it has no UUID yet).
//
// With MPS, devices that MPS cannot share in the wished way are withheld (offer/mps.h). Resources
// whose limits cannot be enforced are withheld too (offer/limits.h). This function does not know
// whether a control daemon serves.
Result<Offer> make_offer(const gpu::Machine& machine, const config::Config& config,
                         const gpu::HealthReport& health);

// A resource with more tranches than this is withheld: kubelet takes the list in one gRPC message
// of at most 16 MiB.
inline constexpr std::size_t kMaxTranches = 100'000;

}  // namespace tranche::offer
