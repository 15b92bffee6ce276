#pragma once
// `tranche controller` from its sources to its exit code: the only place that builds its adapters.

#include "config/flags/sources.h"

namespace tranche::controller {

// Blocks signals, so call it before any thread runs. 0 after a signal; 1 for what cannot be
// started, and when another controller leads: a new process begins from what the cluster says.
int run_controller(const config::Sources& sources);

}  // namespace tranche::controller
