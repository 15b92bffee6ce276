#pragma once
// The mode of the node as a stage: in mode `dra` the device plugin hands out nothing more, in mode
// `device-plugin` nothing that claims of earlier still hold. What containers hold stays theirs in
// both, until they end: no Pod is restarted.

#include "agent/loop/stage.h"

namespace tranche::agent {

// Needs WithholdingInput's and withhold_what_is_held()'s work.
offer::Offer offer_by_mode(const State& state, offer::Offer offer);

}  // namespace tranche::agent
