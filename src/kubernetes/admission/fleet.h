#pragma once
// What the cluster can give to containers that request a part of a GPU. This room only reads it.

#include <string>
#include <vector>

#include "base/units.h"

namespace tranche::admission {

// A GPU model on nodes in mode `dra`, of which containers can claim shares.
struct DraModel {
  std::string product;  // as in the attribute productName: "NVIDIA L20"
  Bytes memory;         // what all shares of one GPU may hold in total
  // The GPU's memory including what the driver keeps for itself; 0: no more than `memory`.
  Bytes total = {};
  bool operator==(const DraModel&) const = default;
};

// A resource that device plugins advertise, one of which is a part of a GPU.
struct Replica {
  std::string resource;   // "nvidia.com/gpu", "nvidia.com/gpu.shared"
  int permille = 0;       // of a GPU: 250 where a GPU has four replicas
  bool enforced = false;  // its memory and compute are limited to that part
  bool operator==(const Replica&) const = default;
};

struct Fleet {
  // In the order in which the scheduler must try them. If not empty, fractions become claims. If
  // two have the same name, the smaller memory counts for both.
  std::vector<DraModel> dra_models;
  // Used while there are no models.
  std::vector<Replica> replicas;
  // There are nodes in mode `dra`, but they allocate GPUs only whole.
  bool whole_alone = false;
  // The models are only expected: no node has one yet.
  bool is_awaited = false;
};

}  // namespace tranche::admission
