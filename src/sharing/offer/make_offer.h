#pragma once
// Makes the offer as a pure function of a node's hardware, configuration and health: the same input
// always gives the same offer.

#include "config/config.h"
#include "gpu/health.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

// There is always an offer. What cannot be offered is withheld in it, with the reason: each device
// that MPS cannot share in the wished way (offer/mps.h) or whose limits cannot be enforced
// (offer/limits.h), a resource of which no device is left, one that does not fit into kubelet's
// message (offer/list_size.h), and, under MIG strategy single, all of a machine whose MIG layout is
// not uniform (NVIDIA's phrases).
//
// A resource with no device does not appear. These are warnings: a sharing entry for a resource
// that this node does not have; a device named by two entries (the first entry gets it); a device
// in a `devices` list that does not exist; a GPU that was never read (it has no UUID yet).
//
// This function does not know whether a control daemon serves.
Offer make_offer(const gpu::Machine& machine, const config::Config& config,
                 const gpu::HealthReport& health);

}  // namespace tranche::offer
