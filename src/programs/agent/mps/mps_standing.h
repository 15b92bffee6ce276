#pragma once
// The MPS control daemons of this node, as MpsInput saw them last.

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "config/resource_name.h"
#include "offer/offer.h"

namespace tranche::agent {

// Advice in messages about a control daemon that does not serve.
inline constexpr std::string_view kMpsRemedy =
    "look at the Pod of mps-control-daemon on this node (it runs where the node's label "
    "nvidia.com/mps.capable is true; the chart has it with mps.enabled=true)";

// The state of the control daemon of a resource that MPS shares.
struct MpsStanding {
  std::string trouble;              // why it does not serve; empty: it does
  offer::MpsService service;        // how it serves, or served last
  bool has_served = false;          // since the configuration shares the resource this way
  std::set<std::string> gpus = {};  // served now or to be served
  bool operator==(const MpsStanding&) const = default;
};

using MpsStandings = std::map<config::ResourceName, MpsStanding>;

}  // namespace tranche::agent
