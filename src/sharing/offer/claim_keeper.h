#pragma once
// What keeps the limits of claims (DRA) on each GPU of a node: the same ladder as for the device
// plugin's containers, by the same configuration. The rules are those of the resource that the GPU
// would be advertised as; whether they are on does not matter, because shares of claims are always
// held. Pure.

#include <map>
#include <string>

#include "config/limits.h"
#include "gpu/machine.h"
#include "offer/offer.h"
#include "values/limits.h"

namespace tranche::offer {

// Of one GPU. MIG instances have none: what a configuration lowers on them, the limiter keeps.
struct ClaimKeeper {
  MemoryEnforcer enforcer = MemoryEnforcer::kLimiter;  // of a limit of memory
  // The resource whose MPS control daemon serves the GPU, or is to; empty: MPS does not share it.
  std::string mps = {};
  bool turns = false;  // the limiter shares the time even among clients of MPS (`policy: priority`)
  bool hook = false;   // limited containers get the runtime's hook
  bool operator==(const ClaimKeeper&) const = default;
};

struct ClaimKeepers {
  std::map<std::string, ClaimKeeper> gpus;  // by UUID
  // For people: what keeps memory instead of the kernel, which was asked for, and why. Empty: it is
  // the kernel, or nobody asked.
  std::string instead = {};
  bool operator==(const ClaimKeepers&) const = default;

  // What holds of a device; of one that is no GPU of the node, the limiter.
  ClaimKeeper of(const std::string& uuid) const;
  bool wants_hook() const;
};

// `wished`: the offer that the configuration asks for.
ClaimKeepers claim_keepers(const config::LimitTable& table, const gpu::Machine& machine,
                           const Offer& wished);

// The limits of a claim's share with the enforcers of memory. `client`: its containers are clients
// of the MPS daemon that serves the device.
GrantLimits enforced_by(GrantLimits limits, const ClaimKeepers& keepers, bool client);
// Whether MPS shares the compute of a client with these limits.
bool computes_by_mps(const GrantLimits& limits, const ClaimKeepers& keepers, bool client);
// Leaves the compute to MPS: the limiter's turns would undo it. With the highest priority and
// without a cap, no container waits for another.
GrantLimits side_by_side(GrantLimits limits);
// All of these: the limits as the limiter is told.
GrantLimits kept_by(GrantLimits limits, const ClaimKeepers& keepers, bool client);

}  // namespace tranche::offer
