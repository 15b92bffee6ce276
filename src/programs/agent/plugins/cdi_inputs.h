#pragma once
// What CDI specifications are made of on this node, in addition to the devices.

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
  std::vector<std::string> warnings;  // about --cdi-feature-flags, and omitted files
};

// `state` has passed DriverFilesInput. Errors: as cdi::find_driver_files().
Result<CdiInputs> cdi_inputs(const State& state, const config::AgentOptions& options);

}  // namespace tranche::agent
