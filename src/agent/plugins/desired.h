#pragma once
// From an offer and a configuration to what the device plugins serve. Pure.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "deviceplugin/resource_state.h"
#include "offer/grant_maker.h"
#include "offer/offer.h"

namespace tranche::agent {

// What grants need to know of the node beside the offer.
struct NodeFacts {
  std::vector<std::string> control_nodes;    // those of /dev/nvidiactl, ... that exist, in order
  std::vector<int> imex_channels;            // those of the configuration's that exist
  std::vector<std::string> cdi_modes;        // CDI classes beside gpu that have a device
  std::optional<offer::LimitMounts> limits;  // nullopt: containers cannot be limited, or need not
  bool operator==(const NodeFacts&) const = default;
};

offer::GrantOptions make_grant_options(const config::Config& config, const NodeFacts& facts);

std::vector<deviceplugin::ResourceState> make_states(const offer::Offer& offer,
                                                     const config::Config& config,
                                                     const NodeFacts& facts,
                                                     std::shared_ptr<const offer::Links> links);

}  // namespace tranche::agent
