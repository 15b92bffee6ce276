#pragma once
// `tranche labels` (and gpu-feature-discovery): writes the node's feature labels, once or at
// intervals, without advertising anything.

#include "config/flags/sources.h"

namespace tranche::agent {

// Runs until a signal, or once with --oneshot. Exit code 0; 1 if the labels could not be made or
// written the first time; 2 for a wrong setting. After a first success it retries.
int run_feature_discovery(const config::Sources& sources);

}  // namespace tranche::agent
