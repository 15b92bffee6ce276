#pragma once
// `tranche cleanup` from its sources to its exit code: what it is asked to do, with the adapters
// that needs.

#include "config/flags/sources.h"

namespace tranche::agent {

// Blocks signals, so call it before any thread runs. `sources`: flags of the cleanup and of the
// agent. 0: done (with --check: the one that stays has cleared the node); 1: not.
int run_cleanup(const config::Sources& sources);

}  // namespace tranche::agent
