#pragma once
// The node's mode as a stage: in mode `dra` the device plugin hands out nothing more, in mode
// `device-plugin` nothing that earlier claims still hold. In both, running containers keep what
// they hold: no Pod is restarted.

#include <optional>
#include <vector>

#include "agent/holdings/book.h"
#include "agent/loop/stage.h"
#include "holdings/holding.h"
#include "offer/claim_enforcers.h"

namespace tranche::agent {

// What claims hold that conflicts with how the node gives out its GPUs: ClaimStanding::held.
std::optional<std::vector<holdings::Holding>> claims_at_odds(
    const Book& book, bool takes_claims, const offer::ClaimEnforcers& enforcers);

// Runs after WithholdingInput and withhold_what_is_held().
offer::Offer offer_by_mode(const State& state, offer::Offer offer);

}  // namespace tranche::agent
