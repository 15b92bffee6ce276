#pragma once
// What a claim gets on this node: from what the scheduler wrote into it, and from the machine.
// Pure.
//
// The scheduler's word counts for which device and how much. A tenant cannot write it (the status
// of a claim is the scheduler's); but the claim may be another by now, or of a pool of yesterday,
// so each name is looked up anew.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/resource_claim.h"
#include "dra/prepared.h"
#include "gpu/machine.h"

namespace tranche::dra {

struct PlanFacts {
  std::string driver;
  std::string pool;
  std::string boot;
  // Why a share cannot be limited on this node; empty: it can.
  std::string no_limits;
  // GPUs on which instances are made for claims.
  std::set<gpu::GpuUuid> partitionable = {};
  // The resource whose MPS control daemon serves a GPU, by the GPU's UUID.
  std::map<std::string, std::string> mps = {};
  // Why such a GPU cannot be used now, by its UUID.
  std::map<std::string, std::string> mps_troubles = {};
  // How the limits of a share are kept.
  Enforcement enforcement = Enforcement::kStrict;
  // kOff: containers with a whole GPU are started without the limiter. Else with it, so that they
  // can be lowered while they run, and this is how.
  Enforcement of_whole = Enforcement::kOff;
};

// The devices of this driver's pool in the claim, in the claim's order; those of other drivers and
// nodes are left out. A share has the part of memory and compute that the claim consumed as its
// limits; one that has all of both is limited by nothing, as a GPU that the claim has alone. The
// claim's configuration lowers these limits, and those of a device that the claim has alone
// (dra/claim_config.h). A place has no UUID yet.
//
// Errors name the device: kFailedPrecondition, the claim has no allocation, a share cannot be
// limited here, or no instances are made on that GPU; kNotFound, this node has no such device;
// kUnavailable, the GPU is lost, or is to be served by MPS and is not; kInvalidArgument, the
// allocation makes no sense.
Result<PreparedClaim> plan_claim(const cluster::ResourceClaim& claim, const gpu::Machine& machine,
                                 const PlanFacts& facts);

// What a device's containers may have at most: its part, or the whole of a device without one.
// `all`: the memory of the device.
DeviceLimits consumed_limits(const PreparedDevice& device, Bytes all);

// Whether both can be prepared at once: a device, the whole of a GPU, or a place on it belongs to
// one claim. Of shares the sum may not exceed the GPU. An error names the claim that is in the way
// (kFailedPrecondition). For the same claim there is none.
Result<void> check_beside(const PreparedClaim& wanted, const std::vector<PreparedClaim>& prepared,
                          const gpu::Machine& machine);

}  // namespace tranche::dra
