#pragma once
// Chooses what enforces the limits of claims (DRA) on each GPU of a node: the same options as for
// the device plugin's containers, by the same configuration. The rules are those of the resource
// that the GPU would be advertised as; whether they are enabled does not matter, because shares of
// claims are always limited. Pure.

#include <map>
#include <string>

#include "config/limits.h"
#include "gpu/machine.h"
#include "holdings/holding.h"
#include "offer/offer.h"
#include "values/limits.h"

namespace tranche::offer {

// The enforcers for claims of one GPU. MIG instances have none: the limiter enforces limits below
// the instance's size.
struct GpuEnforcers {
  MemoryEnforcer enforcer = MemoryEnforcer::kLimiter;  // of a memory limit
  // The resource whose MPS control daemon serves the GPU, now or soon; empty: MPS does not share
  // it.
  std::string mps = {};
  bool turns = false;  // the limiter shares the time even between MPS clients (`policy: priority`)
  bool hook = false;   // limited containers get the runtime's hook
  bool operator==(const GpuEnforcers&) const = default;
};

struct ClaimEnforcers {
  std::map<std::string, GpuEnforcers> gpus;  // by UUID
  // For people: what enforces memory limits instead of the requested kernel limits, and why. Empty:
  // the kernel does, or it was not requested.
  std::string instead = {};
  bool operator==(const ClaimEnforcers&) const = default;

  // The enforcers for a device; the limiter if it is not a GPU of the node.
  GpuEnforcers of(const std::string& uuid) const;
  bool wants_hook() const;
};

// `wished`: the offer that the configuration asks for.
ClaimEnforcers claim_enforcers(const config::LimitTable& table, const gpu::Machine& machine,
                               const Offer& wished);

// Whether the containers of a claim's holding were prepared for the sharing that its GPU has now.
bool is_shared_as_prepared(const holdings::Holding& holding, const ClaimEnforcers& enforcers);

// The limits of a claim's share with the enforcers of memory. `client`: its containers are clients
// of the MPS daemon that serves the device.
GrantLimits enforced_by(GrantLimits limits, const ClaimEnforcers& enforcers, bool client);
// Whether MPS shares the compute of a client with these limits.
bool computes_by_mps(const GrantLimits& limits, const ClaimEnforcers& enforcers, bool client);
// Leaves the compute to MPS, because the limiter's turns would undo it. With the highest priority
// and no cap, no container waits for another.
GrantLimits side_by_side(GrantLimits limits);
// Applies all of these: the limits as passed to the limiter.
GrantLimits kept_by(GrantLimits limits, const ClaimEnforcers& enforcers, bool client);

}  // namespace tranche::offer
