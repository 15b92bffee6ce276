#pragma once
// The state from which one advertised resource answers: an immutable snapshot. The agent publishes
// a new one after a change. Calls that began with the old one finish with it. No call waits for
// hardware.

#include <memory>
#include <optional>

#include "config/config.h"
#include "offer/grant_maker.h"
#include "offer/offer.h"
#include "offer/preferred.h"

namespace tranche::deviceplugin {

struct ResourceState {
  offer::ResourceOffer offer;
  offer::GrantOptions grant_options;
  config::AllocationPolicy policy = config::AllocationPolicy::kDistributed;
  // For aligned preferred allocation; null until the links are known, or when not needed.
  std::shared_ptr<const offer::Links> links;
};

}  // namespace tranche::deviceplugin
