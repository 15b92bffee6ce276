#pragma once
// What running containers hold that conflicts with the wished offer, as WithholdingInput found it
// last.

#include <map>
#include <string>
#include <vector>

#include "config/resource_name.h"
#include "holdings/holding.h"

namespace tranche::agent {

struct HeldStanding {
  std::vector<holdings::Holding> at_odds;  // empty: nothing is withheld (offer/withholding.h)
  // Held tranches that the offer no longer has, by resource (ResourceOffer::beyond).
  std::map<config::ResourceName, std::vector<int>> beyond;
  // Kubelet was asked about all of it, or could not be.
  bool asked = false;
  std::string trouble;  // why nothing is withheld at all; empty: nothing prevents it
  bool operator==(const HeldStanding&) const = default;
};

}  // namespace tranche::agent
