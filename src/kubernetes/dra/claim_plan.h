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
  std::string node;
  std::string pool;
  std::string former_pool = {};  // its name in earlier releases; claims may be allocated from it
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

// The claim's devices, in the claim's order; those of other drivers are omitted. NVIDIA's driver,
// of the same name, calls the pool as the node: its claims are taken where the devices' names are
// ours. A share's limits are the memory and compute that the claim consumed; a share with all of
// both is unlimited, like a GPU that the claim has exclusively. The configurations lower these
// limits, and those of an exclusive device (dra/lowering.h). A place has no UUID yet.
//
// Errors name the device: kFailedPrecondition, the claim has no allocation, or one on another node,
// a share cannot be limited here, or no instances are created on that GPU; kNotFound, this node has
// no such device; kUnavailable, the GPU is lost, or should be served by MPS and is not;
// kInvalidArgument, the allocation or a configuration makes no sense.
Result<PreparedClaim> plan_claim(const cluster::ResourceClaim& claim, const gpu::Machine& machine,
                                 const PlanFacts& facts);

// The most that a device's containers may have: its part, or the whole of a device without one.
// `all`: the memory of the device.
DeviceLimits consumed_limits(const PreparedDevice& device, Bytes all);

}  // namespace tranche::dra
