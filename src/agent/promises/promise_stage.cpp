#include "agent/promises/promise_stage.h"

#include <utility>

#include "offer/promises.h"

namespace tranche::agent {
namespace {

constexpr const char* kNotMounted =
    "kubelet's pod-resources are not mounted, so it is not known when containers end: nothing that "
    "they hold is withheld when the configuration promises it otherwise, as with NVIDIA's plugin; "
    "mount the host's folder /var/lib/kubelet/pod-resources at the same place";

}  // namespace

PromiseInput::PromiseInput(PromiseBook& book, PromiseWatch::Parts watch)
    : book_(book), pod_resources_(watch.pod_resources), watch_(std::move(watch)) {}

void PromiseInput::look(const offer::Offer& wished, State& state) {
  auto& standing = state.promises;
  const bool wanted = state.config.tranche.on_change == config::OnChange::kWithhold;
  const bool possible = pod_resources_.is_there();
  standing.trouble = wanted && !possible ? kNotMounted : "";
  const bool changed = book_.follow(wished, *state.machine, wanted && possible);
  if (!wanted || !possible) {
    standing.at_odds.clear();
  } else {
    // Kubelet's own record names containers that no grant of ours is known of. It is a small file
    // of this machine.
    if (changed) {
      if (const auto remembered = pod_resources_.remembered()) book_.learn(*remembered);
    }
    standing.at_odds = offer::find_at_odds(book_.all(), wished);
  }
  standing.asked = watch_.withheld_for(standing.at_odds);
}

offer::Offer withhold_what_is_promised(const State& state, offer::Offer offer) {
  offer::withhold_promised(state.promises.at_odds, offer);
  return offer;
}

}  // namespace tranche::agent
