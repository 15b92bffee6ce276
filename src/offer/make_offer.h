#pragma once
// The offer as a pure function of a node's hardware, its configuration and its health: the same
// input always gives the same offer.

#include "base/result.h"
#include "config/config.h"
#include "gpu/health.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

// Errors (kFailedPrecondition, NVIDIA's phrases inside): MIG strategy single on a machine whose MIG
// layout is not uniform; a partial MIG instance ("1c.2g.10gb") under mixed is a warning and that
// instance is left out.
// A resource with no device does not appear. Warnings, not errors: a sharing entry for a resource
// this node does not have, a device that two entries claim (the first stands), a device that a
// `devices` list names and that is not there, a GPU that was never read (it has no UUID yet).
// With MPS in force, devices that MPS cannot share so are withheld (offer/mps.h), and so are
// resources whose limits cannot be kept (offer/limits.h). Whether a control daemon serves is not
// known here.
Result<Offer> make_offer(const gpu::Machine& machine, const config::Config& config,
                         const gpu::HealthReport& health);

// More tranches than this in one resource are not advertised but withheld: kubelet takes the list
// in one gRPC message of at most 16 MiB.
inline constexpr std::size_t kMaxTranches = 100'000;

}  // namespace tranche::offer
