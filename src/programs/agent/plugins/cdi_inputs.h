#pragma once
// What CDI specifications are made of on this node, beside the devices.

#include <string>
#include <vector>

#include "agent/loop/state.h"
#include "agent/plugins/driver_standing.h"
#include "base/result.h"
#include "cdi/driver_files.h"
#include "cdi/spec_options.h"
#include "config/programs/agent_options.h"

namespace tranche::agent {

struct CdiInputs {
  cdi::DriverFiles files;
  cdi::SpecOptions options;
  std::vector<std::string> warnings;  // about --cdi-feature-flags, and files that are left out
};

// `state` has been looked at by DriverFilesInput. Errors: as of cdi::find_driver_files().
Result<CdiInputs> cdi_inputs(const State& state, const config::AgentOptions& options);

}  // namespace tranche::agent
