#pragma once
// Runs `tranche arbiter`, from its sources to its exit code. It alone builds the arbiter's
// adapters.

#include "config/flags/sources.h"

namespace tranche::arbiter {

// Blocks signals, so call it before any thread runs. Exit codes: 0 after a signal, 1 if the arbiter
// cannot start, 2 for a setting that is wrong. With --check: 0 when the arbiter of the state folder
// lives, else 1.
int run_arbiter(const config::Sources& sources);

}  // namespace tranche::arbiter
