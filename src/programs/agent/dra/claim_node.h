#pragma once
// What the agent knows of the node when a claim is prepared. A value.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "cdi/driver_files.h"
#include "cdi/spec.h"
#include "cdi/spec_options.h"
#include "dra/claim_plan.h"
#include "gpu/machine.h"
#include "offer/claim_enforcers.h"
#include "offer/limit_mounts.h"

namespace tranche::agent {

struct ClaimNode {
  gpu::Machine machine;
  cdi::DriverFiles files;
  cdi::SpecOptions options;
  std::optional<offer::LimitMounts> limits;  // nullopt: containers cannot be limited here
  // UUIDs of devices that leave service for a change of the MIG layout.
  std::set<std::string> leaving = {};
  dra::PlanFacts facts;
  // What keeps the limits on each GPU. Follows the configuration, also for prepared claims.
  offer::ClaimEnforcers enforcers = {};
  // How MPS control daemons serve, by resource, and their folder on the host.
  std::map<std::string, offer::MpsService> mps = {};
  std::string mps_root = {};
  std::optional<cdi::Hook> hook = {};  // the runtime's, for containers with limits
};

}  // namespace tranche::agent
