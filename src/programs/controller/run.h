#pragma once
// Runs `tranche controller`, from its configuration sources to its exit code, and creates the
// controller's adapters.

#include "config/flags/sources.h"

namespace tranche::controller {

// Blocks signals, so call it before any thread runs. Exit codes: 0 after a signal; 1 if the
// controller cannot start, or if it led and lost the Lease (a new process then starts from the
// cluster's state); 2 for a setting that is wrong.
int run_controller(const config::Sources& sources);

}  // namespace tranche::controller
