#pragma once
// `tranche agent` from its sources to its exit code: the only place that builds the agent's
// adapters.

#include "config/flags/sources.h"

namespace tranche::agent {

// Blocks signals, so call it before any thread runs. Exit codes are NVIDIA's: 0 after a signal, 1
// for what cannot be started.
int run_agent(const config::Sources& sources);

}  // namespace tranche::agent
