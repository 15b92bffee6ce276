#pragma once
// What leaves service while a MIG layout is changed. The manager of MIG layouts sets it
// (agent/mig/); whoever hands out or lists devices goes by it. Pure.

#include <map>
#include <set>
#include <string>

#include "gpu/machine.h"

namespace tranche::agent {

struct MigStanding {
  // The GPUs whose layout is being changed, and the ids of the GPU instances of each that stay.
  std::map<std::string, std::set<int>> changing;
  // GPUs that stay as they are and leave service with them, and why (agent/mig/mig_neighbours.h).
  std::map<std::string, std::string> neighbours;
  // Resources whose MPS control daemons end for the change.
  std::set<std::string> mps;
  bool operator==(const MigStanding&) const = default;
};

// UUIDs of the GPUs and MIG devices that leave service.
std::set<std::string> leaving_devices(const MigStanding& standing, const gpu::Machine& machine);

}  // namespace tranche::agent
