#pragma once
// Runs `tranche arbiter`, from its sources to its exit code. The only place that builds the
// arbiter's adapters.

#include "config/flags/sources.h"

namespace tranche::arbiter {

// Blocks signals, so call it before any thread runs. Exit codes: 0 after a signal, 1 if the arbiter
// cannot start, 2 for an invalid setting. With --check: 0 if the arbiter of the state folder is
// alive, else 1.
int run_arbiter(const config::Sources& sources);

}  // namespace tranche::arbiter
