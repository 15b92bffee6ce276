#pragma once
// The devices that a node publishes for claims, made from the machine. Pure.
//
//   gpu-0                   a whole GPU, and where shares can be limited any part of it: a claim
//                           takes so much memory (bytes) and compute (percent), and all of both if
//                           it names none
//   gpu-0-mig-1g10gb-19-3   a MIG instance: one that exists, or a place where one may be made
//
// Where instances may be made for claims, all devices of a GPU draw on one counter set: a place
// takes its memory slices, compute slices and engines, and the GPU takes everything, so nothing is
// given out twice. Source: Kubernetes' KEP-4815 (partitionable devices) and KEP-5075 (consumable
// capacity).

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/resource_slice.h"
#include "dra/pool_facts.h"
#include "gpu/machine.h"

namespace tranche::dra {

struct Pool {
  std::vector<cluster::CounterSet> counters;
  std::vector<cluster::SliceDevice> gpus;  // by index
  // MIG devices of each GPU that has any, by the GPU's index, or where instances are made for
  // claims the last GPU first: large profiles before small ones, and of each profile the places at
  // the end first, where fewer large profiles could begin.
  std::vector<std::vector<cluster::SliceDevice>> instances;
};

Pool make_pool(const gpu::Machine& machine, const PoolFacts& facts);

// The pool as ResourceSlices, of generation `generation` and within the API server's limits:
// counter sets first, then the GPUs, then the instances; those of one GPU are in one slice. One
// empty slice for an empty pool. Without uid, version and owners.
struct PoolNames {
  std::string driver;
  std::string node;
};
std::vector<cluster::ResourceSlice> make_slices(Pool pool, const PoolNames& names,
                                                std::int64_t generation);

}  // namespace tranche::dra
