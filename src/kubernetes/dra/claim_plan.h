#pragma once
// What a claim gets on this node, from the scheduler's allocation and the machine. Pure.
//
// The scheduler decides which device and how much. A tenant cannot write that (the status of a
// claim belongs to the scheduler), but the claim may have been replaced, or refer to an outdated
// pool, so each name is looked up again.

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
  // Why shares cannot be limited on this node; empty: they can.
  std::string no_limits;
  // GPUs on which instances are made for claims.
  std::set<gpu::GpuUuid> partitionable = {};
  // The resource whose MPS control daemon serves a GPU, by the GPU's UUID.
  std::map<std::string, std::string> mps = {};
  // Why such a GPU cannot be used now, by UUID.
  std::map<std::string, std::string> mps_troubles = {};
  // How the limits of a share are enforced.
  Enforcement enforcement = Enforcement::kStrict;
  // kOff: containers with a whole GPU are started without the limiter. Otherwise they are started
  // with it, at this level, so that they can be limited while they run.
  Enforcement of_whole = Enforcement::kOff;
};

// The claim's devices from this driver's pool, in the claim's order; those of other drivers and
// nodes are omitted. A share's limits are the memory and compute that the claim consumed; a share
// with all of both is unlimited, like a GPU that the claim has exclusively. The claim's
// configuration lowers these limits, and those of an exclusive device (dra/claim_config.h). A place
// has no UUID yet.
//
// Errors name the device: kFailedPrecondition, the claim has no allocation, a share cannot be
// limited here, or no instances are created on that GPU; kNotFound, this node has no such device;
// kUnavailable, the GPU is lost, or should be served by MPS and is not; kInvalidArgument, the
// allocation makes no sense.
Result<PreparedClaim> plan_claim(const cluster::ResourceClaim& claim, const gpu::Machine& machine,
                                 const PlanFacts& facts);

// The most that a device's containers may have: its part, or the whole of a device without one.
// `all`: the memory of the device.
DeviceLimits consumed_limits(const PreparedDevice& device, Bytes all);

// Whether both can be prepared at the same time: a device, a whole GPU, or a place on it belongs to
// one claim. Shares may not add up to more than the GPU. An error names the conflicting claim
// (kFailedPrecondition). The same claim never conflicts with itself.
Result<void> check_conflicts(const PreparedClaim& wanted,
                             const std::vector<PreparedClaim>& prepared,
                             const gpu::Machine& machine);

}  // namespace tranche::dra
