#include "agent/mps/mps_stage.h"

#include <fmt/format.h>

#include "mps/plan.h"
#include "mps/ready_file.h"

namespace tranche::agent {

void MpsInput::look(const offer::Offer& wished, State& state) {
  std::map<config::ResourceName, MpsStanding> standings;
  for (const auto& resource : wished.resources) {
    if (resource.sharing != config::SharingStrategy::kMps) continue;
    const auto started = mps::paths_of(root_, resource.name).started;
    auto& standing = standings[resource.name];
    if (const auto known = state.mps.find(resource.name); known != state.mps.end()) {
      standing = known->second;
    }
    standing.trouble = mps::trouble_of(started);
    if (!standing.trouble.empty()) continue;
    standing.has_served = true;
    standing.service = mps::service_of(started);
  }
  state.mps = std::move(standings);
}

std::optional<std::chrono::milliseconds> MpsInput::interval(const State& state) const {
  if (state.mps.empty()) return {};
  return kInterval;
}

std::string MpsInput::trouble(const State& state) const {
  for (const auto& [name, standing] : state.mps) {
    if (!standing.trouble.empty()) return fmt::format("{}: {}", name.value, standing.trouble);
  }
  return {};
}

offer::Offer offer_what_mps_serves(const State& state, offer::Offer offer) {
  std::erase_if(offer.resources, [&](const offer::ResourceOffer& resource) {
    const auto found = state.mps.find(resource.name);
    if (found == state.mps.end() || found->second.has_served) return false;
    offer.withheld.push_back(
        {resource.name, fmt::format("sharing.mps: {}; {}", found->second.trouble, kMpsRemedy)});
    return true;
  });
  for (auto& resource : offer.resources) {
    const auto found = state.mps.find(resource.name);
    if (found == state.mps.end()) continue;
    resource.mps = found->second.service;
    for (auto& device : resource.devices) {
      if (device.healthy()) device.unhealthy_reason = found->second.trouble;
    }
  }
  return offer;
}

}  // namespace tranche::agent
