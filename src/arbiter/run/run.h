#pragma once
// `tranche arbiter` from its sources to its exit code: the only place that builds its adapters.

#include "config/flags/sources.h"

namespace tranche::arbiter {

// Blocks signals, so call it before any thread runs. 0 after a signal; 1 for what cannot be
// started. With --check: 0 when the arbiter of the state folder lives, else 1.
int run_arbiter(const config::Sources& sources);

}  // namespace tranche::arbiter
