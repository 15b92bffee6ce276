#include "agent/mps/mps_stage.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/config/mode_standing.h"
#include "agent/hardware/leaving.h"
#include "mps/plan.h"
#include "mps/ready_file.h"
#include "offer/mps.h"

namespace tranche::agent {
namespace {

constexpr const char* kEndsForMig = "its MPS control daemon ends for a change of the MIG layout";

constexpr const char* kOpen = "its MPS control daemon sets no limits, for claims have GPUs of it";

// The supervisor reads hardware and configuration by itself. Until it has seen what this agent has,
// the running daemon is about to end. A lost GPU need not be served: a supervisor that started
// since does not know it.
std::string other_gpus(const std::filesystem::path& started, const offer::ResourceOffer& resource) {
  const auto served = mps::gpus_of(started);
  if (!served) return {};
  const auto wanted = offer::mps_gpus(resource);
  const bool more = !std::ranges::includes(wanted, *served);
  const bool less = std::ranges::any_of(resource.devices, [&](const offer::Device& device) {
    return device.healthy() && wanted.contains(device.uuid) && !served->contains(device.uuid);
  });
  if (!more && !less) return {};
  return "its MPS control daemon serves other GPUs than it shall, and is to be started anew";
}

// Why its devices are not handed out; empty: they are. In mode `dra` none are.
std::string trouble_of(const State& state, const config::ResourceName& name,
                       const MpsStanding& standing) {
  const bool fails = !standing.trouble.empty();
  if (fails && state.get<MigStanding>().mps.contains(name.value)) return kEndsForMig;
  if (fails || !standing.service.open) return standing.trouble;
  return state.get<NodeModeStanding>().mode == cluster::NodeMode::kDra ? "" : kOpen;
}

}  // namespace

void MpsInput::look(const offer::Offer& wished, State& state) {
  const auto& before = state.get<MpsStandings>();
  MpsStandings standings;
  for (const auto& resource : wished.resources) {
    if (resource.sharing != config::SharingStrategy::kMps) continue;
    const auto started = mps::paths_of(root_, resource.name).started;
    auto& standing = standings[resource.name];
    if (const auto known = before.find(resource.name); known != before.end()) {
      standing = known->second;
    }
    standing.gpus = offer::mps_gpus(resource);
    standing.trouble = mps::trouble_of(started);
    if (standing.trouble.empty()) standing.trouble = other_gpus(started, resource);
    if (!standing.trouble.empty()) continue;
    standing.has_served = true;
    standing.service = mps::service_of(started);
  }
  state.set(std::move(standings));
}

std::optional<std::chrono::milliseconds> MpsInput::interval(const State& state) const {
  const auto& standings = state.get<MpsStandings>();
  if (standings.empty()) return {};
  const auto& ending = state.get<MigStanding>().mps;
  const bool awaited = std::ranges::any_of(standings, [&](const auto& one) {
    return !one.second.trouble.empty() && ending.contains(one.first.value);
  });
  return awaited ? kAwaited : kInterval;
}

std::string MpsInput::trouble(const State& state) const {
  for (const auto& [name, standing] : state.get<MpsStandings>()) {
    if (!standing.trouble.empty()) return fmt::format("{}: {}", name.value, standing.trouble);
  }
  return {};
}

offer::Offer offer_what_mps_serves(const State& state, offer::Offer offer) {
  const auto& standings = state.get<MpsStandings>();
  std::erase_if(offer.resources, [&](const offer::ResourceOffer& resource) {
    const auto found = standings.find(resource.name);
    if (found == standings.end() || found->second.has_served) return false;
    offer.withheld.push_back(
        {resource.name, fmt::format("sharing.mps: {}; {}", found->second.trouble, kMpsRemedy)});
    return true;
  });
  for (auto& resource : offer.resources) {
    const auto found = standings.find(resource.name);
    if (found == standings.end()) continue;
    resource.mps = found->second.service;
    const auto reason = trouble_of(state, resource.name, found->second);
    for (auto& device : resource.devices) {
      if (device.healthy()) device.unhealthy_reason = reason;
    }
  }
  return offer;
}

}  // namespace tranche::agent
