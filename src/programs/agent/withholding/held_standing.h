#pragma once
// What running containers hold that does not go together with what would be offered now, as
// WithholdingInput found it last.

#include <map>
#include <string>
#include <vector>

#include "config/resource_name.h"
#include "holdings/holding.h"

namespace tranche::agent {

struct HeldStanding {
  std::vector<holdings::Holding> at_odds;  // empty: nothing is withheld (offer/withholding.h)
  // Held tranches that the offer has no more, by resource (ResourceOffer::beyond).
  std::map<config::ResourceName, std::vector<int>> beyond;
  // Kubelet was asked who holds it, and whether it is still held, or could not be asked.
  bool asked = false;
  std::string trouble;  // why nothing is withheld at all; empty: it is where need be
  bool operator==(const HeldStanding&) const = default;
};

}  // namespace tranche::agent
