#pragma once
// The devices that a node publishes for claims, made from the machine. Pure.
//
//   gpu-0                   a whole GPU, and if shares can be limited any part of it: a claim takes
//                           the memory (bytes) and compute (percent) that it names, and all of both
//                           if it names none
//   gpu-0-admin             the same GPU for requests with adminAccess: never full, takes nothing
//   gpu-0-mig-1g10gb-19-3   a MIG instance: an existing one, or a place where one may be created
//
// Where instances may be created for claims, all devices of a GPU consume one counter set: a place
// consumes its memory slices, compute slices and engines, and the GPU consumes everything, so
// nothing is allocated twice. Source: Kubernetes' KEP-4815 (partitionable devices) and KEP-5075
// (consumable capacity).

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/resource_slice.h"
#include "dra/pool_facts.h"
#include "gpu/machine.h"

namespace tranche::dra {

struct Pool {
  std::vector<cluster::CounterSet> counters;
  std::vector<cluster::SliceDevice> gpus;    // by index
  std::vector<cluster::SliceDevice> admins;  // the same GPUs for adminAccess
  // The MIG devices: a group of all existing instances, smallest first, and a group per GPU of the
  // places on it (dra/gpu_devices.h), last GPU first. The group with the smallest device comes
  // first, so a claim that names no profile gets that, and existing instances before places.
  std::vector<std::vector<cluster::SliceDevice>> instances;
};

Pool make_pool(const gpu::Machine& machine, const PoolFacts& facts);

// The pool as ResourceSlices, of generation `generation` and within the API server's limits:
// counter sets first, then the GPUs, then the instances; the places of one GPU are in one slice.
// One empty slice for an empty pool. Without uid, version and owners.
struct PoolNames {
  std::string driver;
  std::string node;
};
std::vector<cluster::ResourceSlice> make_slices(Pool pool, const PoolNames& names,
                                                std::int64_t generation);

}  // namespace tranche::dra
