#include "agent/dra/claim_stage.h"

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

}  // namespace

offer::Offer offer_by_mode(const State& state, offer::Offer offer) {
  const auto& node = state.get<NodeModeStanding>();
  const auto& claimed = state.get<ClaimStanding>().held;
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
  if (!node.undecided && claimed.empty()) return offer;
  for (auto& resource : offer.resources) {
    for (auto& tranche : resource.tranches) {
      if (node.undecided || claimed.contains(resource.devices[tranche.device].uuid)) {
        tranche.withheld = true;
      }
    }
  }
  return offer;
}

}  // namespace tranche::agent
