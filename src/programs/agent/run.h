#pragma once
// Runs `tranche agent`, from its sources to its exit code. Only it builds the agent's adapters.

#include "config/flags/sources.h"

namespace tranche::agent {

// Blocks signals, so call it before any thread runs. Exit codes as NVIDIA's: 0 after a signal, 1 if
// the agent cannot start.
int run_agent(const config::Sources& sources);

}  // namespace tranche::agent
