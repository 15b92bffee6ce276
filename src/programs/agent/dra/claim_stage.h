#pragma once
// The mode of the node as a stage: in mode `dra` the device plugin hands out nothing more, in mode
// `device-plugin` nothing that claims of earlier still hold. What containers hold stays theirs in
// both, until they end: no Pod is restarted.

#include <optional>
#include <vector>

#include "agent/holdings/book.h"
#include "agent/loop/stage.h"
#include "holdings/holding.h"
#include "offer/claim_enforcers.h"

namespace tranche::agent {

// What claims hold that does not go together with how the node gives out its GPUs:
// ClaimStanding::held.
std::optional<std::vector<holdings::Holding>> claims_at_odds(
    const Book& book, bool takes_claims, const offer::ClaimEnforcers& enforcers);

// Needs WithholdingInput's and withhold_what_is_held()'s work.
offer::Offer offer_by_mode(const State& state, offer::Offer offer);

}  // namespace tranche::agent
