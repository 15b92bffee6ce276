#pragma once
// From an offer and the state it follows from to what the device plugins serve. Pure.

#include <string>
#include <vector>

#include "agent/loop/state.h"
#include "deviceplugin/resource_state.h"
#include "offer/grant_maker.h"
#include "offer/offer.h"

namespace tranche::agent {

// `cdi_modes`: CDI classes beside gpu that have a device.
offer::GrantOptions make_grant_options(const State& state, std::vector<std::string> cdi_modes);

std::vector<deviceplugin::ResourceState> make_states(const offer::Offer& offer, const State& state,
                                                     std::vector<std::string> cdi_modes);

}  // namespace tranche::agent
