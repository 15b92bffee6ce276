#pragma once
// From the existing ResourceSlices to the wanted ones: what to write, in which order. Pure.
//
// The scheduler only uses the highest generation of a pool, and only when all of its slices
// exist. So a change of one slice's content keeps the generation and is one write. A change
// of the number of slices is a new generation of all of them, and leftovers are deleted
// last.
//
// A slice of a pool with another name, from an earlier release, is deleted first where its own name
// is wanted.

#include <string>
#include <vector>

#include "cluster/resource_slice.h"
#include "dra/pool.h"

namespace tranche::dra {

struct SliceWrite {
  enum class Kind { kCreate, kUpdate, kDelete };
  Kind kind = Kind::kCreate;
  // kUpdate and kDelete: with uid and version of the existing one.
  cluster::ResourceSlice slice;
};

// `there`: this driver's slices of this node, from any pool. `owner`: the Node, with which the
// slices are deleted. Empty if everything is as it should be.
std::vector<SliceWrite> writes_for(const std::vector<cluster::ResourceSlice>& there, Pool wanted,
                                   const PoolNames& names, const cluster::OwnerReference& owner);

// What Kubernetes drops when a feature gate is off. The API server does not report it, so its
// response to a write is compared with what was written.
struct Dropped {
  bool shares = false;    // DRAConsumableCapacity
  bool counters = false;  // DRAPartitionableDevices
  bool taints = false;    // DRADeviceTaints
  // DRAExtendedResource, for DeviceClasses rather than slices.
  bool names = false;
  // ResourceHealthStatus, on this node's kubelet: it has not requested the devices' health.
  bool health = false;
  bool any() const { return shares || counters || taints || names || health; }
  bool operator==(const Dropped&) const = default;
};
Dropped dropped_fields(const cluster::ResourceSlice& written, const cluster::ResourceSlice& answer);
// What claims therefore do not get, and the feature gates to enable; empty: nothing was dropped.
std::string describe(const Dropped& dropped);

}  // namespace tranche::dra
