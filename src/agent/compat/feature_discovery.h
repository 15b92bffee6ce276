#pragma once
// `tranche labels` (and gpu-feature-discovery): the node's feature labels by themselves, without
// advertising anything: once, or again and again.

#include "config/flags/sources.h"

namespace tranche::agent {

// Runs until a signal, or once with --oneshot. Exit code 0, or 1 when the labels could not be made
// or written the first time; after a first success it goes on trying.
int run_feature_discovery(const config::Sources& sources);

}  // namespace tranche::agent
