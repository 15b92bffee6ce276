#pragma once
// Runs `tranche cleanup`, from its sources to its exit code, and builds its adapters.

#include "config/flags/sources.h"

namespace tranche::agent {

// Blocks signals, so call it before any thread runs. `sources`: flags of the cleanup and of the
// agent. Exit codes: 0: done (with --check: a waiting cleanup has cleared the node); 1: not done;
// 2: a setting is wrong.
int run_cleanup(const config::Sources& sources);

}  // namespace tranche::agent
