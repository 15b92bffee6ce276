#pragma once
// tranche incident: what happened on this node's GPUs. See docs/incidents.md.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
int run_incident_command(const Invocation& invocation);

}  // namespace tranche::cli
