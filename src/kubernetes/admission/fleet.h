#pragma once
// What the cluster has to give to containers that ask for a part of a GPU. A value: whoever watches
// nodes and ResourceSlices makes it, and the functions of this room only read it.

#include <string>
#include <vector>

#include "base/units.h"

namespace tranche::admission {

// A model of GPU on nodes in mode `dra`, of which containers can claim shares.
struct DraModel {
  std::string product;  // as in the attribute productName: "NVIDIA L20"
  Bytes memory;         // what all shares of one GPU may hold together
  // What the GPU has, with what the driver keeps for itself; 0: no more than `memory`.
  Bytes total = {};
  bool operator==(const DraModel&) const = default;
};

// A resource that device plugins advertise, and of which one is a part of a GPU.
struct Replica {
  std::string resource;   // "nvidia.com/gpu", "nvidia.com/gpu.shared"
  int permille = 0;       // of a GPU, that one replica is: 250 where a GPU has four
  bool enforced = false;  // its memory and compute are limited to that part
  bool operator==(const Replica&) const = default;
};

struct Fleet {
  // In the order in which the scheduler shall try them. Not empty: fractions become claims. If two
  // have the same name, the smaller memory counts for both.
  std::vector<DraModel> dra_models;
  // Used while there are no models.
  std::vector<Replica> replicas;
  // There are nodes in mode `dra`, and their GPUs are given out whole alone.
  bool whole_alone = false;
  // No node has one of the models yet: the operator expects them.
  bool is_awaited = false;
};

}  // namespace tranche::admission
