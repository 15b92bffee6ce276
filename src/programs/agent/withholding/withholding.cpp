#include "agent/withholding/withholding.h"

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "agent/config/mode_standing.h"
#include "offer/limits.h"
#include "offer/withholding.h"

namespace tranche::agent {
namespace {

constexpr const char* kNotMounted =
    "kubelet's pod-resources are not mounted, so it is not known when containers end: nothing that "
    "they hold is withheld when the configuration promises it otherwise, as with NVIDIA's plugin; "
    "mount the host's folder /var/lib/kubelet/pod-resources at the same place";

}  // namespace

WithholdingInput::WithholdingInput(Book& book, cluster::PodResources& pod_resources,
                                   HoldingsWatch::Parts watch, Part part)
    : book_(book),
      part_(std::move(part)),
      pod_resources_(pod_resources),
      watch_(std::move(watch)) {}

void WithholdingInput::look(const offer::Offer& wished, State& state) {
  HeldStanding standing;
  // In mode `dra` all that is held conflicts with what is given out now.
  const bool claims = state.get<NodeModeStanding>().mode == cluster::NodeMode::kDra;
  const bool wanted = claims || state.config.tranche.on_change == config::OnChange::kWithhold;
  const bool possible = pod_resources_.is_there();
  standing.trouble = wanted && !possible ? kNotMounted : "";
  const bool changed = book_.follow(wished, *state.machine, wanted && possible);
  if (wanted && (possible || claims)) {
    // Kubelet's checkpoint, a small local file, names containers without a known grant.
    if (changed && possible) {
      if (const auto remembered = pod_resources_.remembered()) book_.learn(*remembered);
    }
    const auto all = book_.granted();
    const auto& held = *all;
    standing.at_odds = claims ? held : offer::find_at_odds(held, wished);
    add_parts(wished, standing.at_odds);
    book_.keep(standing.at_odds);
    if (!claims) standing.beyond = offer::count_beyond(held, wished);
  }
  standing.asked = watch_.withheld_for(standing.at_odds, !standing.beyond.empty());
  state.set(std::move(standing));
}

// Limits of containers follow the offer as long as it has their tranches; others keep theirs. An
// unreadable one counts as granted.
void WithholdingInput::add_parts(const offer::Offer& wished,
                                 std::vector<holdings::Holding>& held) const {
  for (auto& one : held) {
    if (one.tenant.empty()) continue;
    const auto* resource = wished.find(one.resource);
    if (resource != nullptr &&
        (!resource->limits || offer::limits_for(*resource, std::span(&one.id, 1)))) {
      one.part.reset();
    } else if (auto now = part_ ? part_(one) : fail(Code::kNotFound, "no tenants"); now) {
      one.part = *std::move(now);
    }
  }
}

offer::Offer withhold_what_is_held(const State& state, offer::Offer offer) {
  const auto& held = state.get<HeldStanding>();
  offer::withhold_held(held.at_odds, offer);
  for (auto& resource : offer.resources) {
    const auto beyond = held.beyond.find(resource.name);
    if (beyond != held.beyond.end()) resource.beyond = beyond->second;
  }
  return offer;
}

}  // namespace tranche::agent
