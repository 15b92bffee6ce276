#include "agent/dra/claim_stage.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "agent/config/mode_standing.h"
#include "agent/dra/claim_standing.h"
#include "agent/withholding/held_standing.h"

namespace tranche::agent {
namespace {

using Held = std::set<std::pair<std::string, std::string>>;  // resource, id

Held held_tranches(const State& state) {
  Held held;
  for (const auto& promise : state.get<HeldStanding>().at_odds) {
    held.emplace(promise.resource.value, promise.id);
  }
  return held;
}

// What is not known may be held.
bool is_claimed(const ClaimStanding& claims, const offer::Device& device) {
  if (!claims.held) return true;
  const holdings::Holding wanted{.device = device.uuid, .gpu = device.gpu_uuid};
  return std::ranges::any_of(
      *claims.held, [&](const holdings::Holding& one) { return holdings::overlap(one, wanted); });
}

}  // namespace

std::optional<std::vector<holdings::Holding>> claims_at_odds(
    const Book& book, bool takes_claims, const offer::ClaimEnforcers& enforcers) {
  auto held = book.claimed();
  if (!held || !takes_claims) return held;
  std::erase_if(*held, [&](const holdings::Holding& one) {
    return offer::is_shared_as_prepared(one, enforcers);
  });
  return held;
}

offer::Offer offer_by_mode(const State& state, offer::Offer offer) {
  const auto& node = state.get<NodeModeStanding>();
  const auto& claims = state.get<ClaimStanding>();
  if (node.mode == cluster::NodeMode::kDra) {
    const auto held = held_tranches(state);
    for (auto& resource : offer.resources) {
      std::erase_if(resource.tranches, [&](const offer::Tranche& tranche) {
        return !held.contains({resource.name.value, tranche.id});
      });
      for (auto& tranche : resource.tranches) tranche.withheld = true;
    }
    return offer;
  }
  for (auto& resource : offer.resources) {
    for (auto& tranche : resource.tranches) {
      const auto& device = resource.devices[tranche.device];
      if (node.undecided || is_claimed(claims, device)) tranche.withheld = true;
    }
  }
  return offer;
}

}  // namespace tranche::agent
