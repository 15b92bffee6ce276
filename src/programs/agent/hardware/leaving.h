#pragma once
// What leaves service while a MIG layout is changed. Set by the manager of MIG layouts
// (agent/mig/); read by all that hand out or list devices. Pure.

#include <map>
#include <set>
#include <string>

#include "gpu/machine.h"

namespace tranche::agent {

struct MigStanding {
  // The GPUs whose layout is being changed, with the ids of their GPU instances that stay.
  std::map<std::string, std::set<int>> changing;
  // GPUs that leave service unchanged, and why (agent/mig/mig_neighbours.h).
  std::map<std::string, std::string> neighbours;
  std::set<std::string> mps;
  bool operator==(const MigStanding&) const = default;
};

std::set<std::string> leaving_devices(const MigStanding& standing, const gpu::Machine& machine);

}  // namespace tranche::agent
