#pragma once
// From the ResourceSlices that are there to those that should be: what to write, in which order.
// Pure.
//
// The scheduler takes of a pool the highest generation alone, and only when all of its slices are
// there. So a change of one slice's content keeps the generation and is one write, and a change of
// the number of slices is a new generation of all of them, and what is left over goes last.

#include <string>
#include <vector>

#include "cluster/resource_slice.h"
#include "dra/pool.h"

namespace tranche::dra {

struct SliceWrite {
  enum class Kind { kCreate, kUpdate, kDelete };
  Kind kind = Kind::kCreate;
  // kUpdate and kDelete: with uid and version of the one that is there.
  cluster::ResourceSlice slice;
};

// `there`: this driver's slices of this node, of whatever pool. `owner`: the Node, with which the
// slices go. None where all is as it should be.
std::vector<SliceWrite> writes_for(const std::vector<cluster::ResourceSlice>& there, Pool wanted,
                                   const PoolNames& names, const cluster::OwnerReference& owner);

// What Kubernetes drops when a feature gate is off. The API server says nothing about it, so what
// it answers to a write is compared with what was written.
struct Dropped {
  bool shares = false;    // DRAConsumableCapacity
  bool counters = false;  // DRAPartitionableDevices
  bool taints = false;    // DRADeviceTaints
  // DRAExtendedResource, of DeviceClasses and not of slices.
  bool names = false;
  // ResourceHealthStatus, at this node's kubelet: it has not asked for the devices' health.
  bool health = false;
  bool any() const { return shares || counters || taints || names || health; }
  bool operator==(const Dropped&) const = default;
};
Dropped dropped_fields(const cluster::ResourceSlice& written, const cluster::ResourceSlice& answer);
// What claims do not get for it, and the feature gates to turn on; empty: nothing was dropped.
std::string describe(const Dropped& dropped);

}  // namespace tranche::dra
