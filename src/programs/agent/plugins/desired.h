#pragma once
// Computes what the device plugins serve from an offer and its state. Pure.

#include <string>
#include <vector>

#include "agent/loop/state.h"
#include "deviceplugin/resource_state.h"
#include "offer/grant_maker.h"
#include "offer/offer.h"

namespace tranche::agent {

// `cdi_modes`: the CDI classes other than gpu that have a device.
offer::GrantOptions make_grant_options(const State& state, std::vector<std::string> cdi_modes);

std::vector<deviceplugin::ResourceState> make_states(const offer::Offer& offer, const State& state,
                                                     std::vector<std::string> cdi_modes);

}  // namespace tranche::agent
