// What an agent does about MPS: a resource is offered when its control daemon serves; when that is
// gone later its devices are unhealthy until it is back, and nothing is registered anew.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "agent/agent.h"
#include "agent/report.h"
#include "mps/plan.h"
#include "mps/ready_file.h"

namespace tranche::agent {
namespace {

constexpr std::string_view kRemedy =
    "look at the Pod of mps-control-daemon on this node (it runs where the node's label "
    "nvidia.com/mps.capable is true)";

bool by_mps(const offer::ResourceOffer& resource) {
  return resource.sharing == config::SharingStrategy::kMps;
}

}  // namespace

void Agent::follow_mps(offer::Offer& offer) {
  std::map<config::ResourceName, std::string> troubles;
  for (const auto& resource : offer.resources) {
    if (!by_mps(resource)) continue;
    const auto paths = mps::paths_of(settings_.options.mps_dir, resource.name);
    troubles[resource.name] = mps::trouble_of(paths.started);
    if (!troubles[resource.name].empty()) continue;
    mps_offered_.insert(resource.name);
    mps_services_[resource.name] = mps::service_of(paths.started);
  }
  mps_troubles_ = std::move(troubles);
  std::erase_if(mps_offered_, [&](const auto& name) { return !mps_troubles_.contains(name); });

  for (auto& resource : offer.resources) {
    if (!mps_offered_.contains(resource.name)) continue;
    resource.mps = mps_services_[resource.name];
    const auto& trouble = mps_troubles_.at(resource.name);
    for (auto& device : resource.devices) {
      if (device.healthy()) device.unhealthy_reason = trouble;
    }
  }
  std::erase_if(offer.resources, [&](const offer::ResourceOffer& resource) {
    if (!by_mps(resource) || mps_offered_.contains(resource.name)) return false;
    offer.withheld.push_back(
        {resource.name,
         fmt::format("sharing.mps: {}; {}", mps_troubles_.at(resource.name), kRemedy)});
    return true;
  });
}

// Small files of this machine: never waits.
void Agent::look_at_mps() {
  const bool differs = std::ranges::any_of(mps_troubles_, [&](const auto& entry) {
    const auto paths = mps::paths_of(settings_.options.mps_dir, entry.first);
    const auto trouble = mps::trouble_of(paths.started);
    if (trouble != entry.second) return true;
    return trouble.empty() && mps::service_of(paths.started) != mps_services_[entry.first];
  });
  if (differs) reconcile();
}

// Daemons that are gone newly, for `kubectl describe node`.
void Agent::tell_mps(const offer::Offer& offer) {
  if (!ports_.tell) return;
  std::map<config::ResourceName, std::string> standing;
  for (const auto& resource : offer.resources) {
    const auto found = mps_troubles_.find(resource.name);
    if (found == mps_troubles_.end() || found->second.empty()) continue;
    standing.insert(*found);
    if (const auto told = mps_told_.find(resource.name);
        told != mps_told_.end() && told->second == found->second) {
      continue;
    }
    ports_.tell({.warning = true,
                 .reason = "MpsDaemonGone",
                 .action = "Advertise",
                 .note = fmt::format("{} is unhealthy: {}; {}", resource.name.value, found->second,
                                     kRemedy)});
  }
  mps_told_ = std::move(standing);
}

// Containers that run with what no daemon serves any more.
void Agent::tell_stale_mps(const offer::Offer& offer) {
  const auto line = describe_stale_mps(grants_->all(), offer);
  if (!line.empty() && line != stale_mps_said_) {
    ports_.log.warn(line);
    if (ports_.tell) {
      ports_.tell(
          {.warning = true, .reason = "MpsGrantStale", .action = "Advertise", .note = line});
    }
  }
  stale_mps_said_ = line;
}

}  // namespace tranche::agent
