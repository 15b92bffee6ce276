#include "agent/labels/label_follower.h"

#include <utility>

#include "labels/limit_labels.h"

namespace tranche::agent {

config::Config as_served(config::Config config, const std::map<std::string, int>& others) {
  auto& sharing = config.sharing;
  auto& list = sharing.mps ? sharing.mps : sharing.time_slicing;
  for (const auto& [resource, replicas] : others) {
    bool found = false;
    if (!list) list.emplace();
    for (auto& entry : list->resources) {
      if (entry.advertised().value != resource) continue;
      entry.replicas = replicas;
      found = true;
    }
    if (!found) list->resources.push_back({.name = {resource}, .replicas = replicas});
  }
  return config;
}

Result<void> LabelFollower::follow(const Round& round) {
  take(round.state, round.offer);
  return {};
}

void LabelFollower::await_hardware(const State& state) { take(state, nullptr); }

void LabelFollower::take(const State& state, std::shared_ptr<const offer::Offer> offer) {
  // The labels' timestamp is the time when the configuration took effect.
  if (std::exchange(config_revision_, state.config_revision) != state.config_revision) {
    publisher_.restamp();
  }
  machine_ = state.machine.value_or(gpu::Machine());
  machine_->host = state.host;
  config_ = state.config;
  serving_ = state.get<ServingStanding>();
  offer_ = std::move(offer);
}

void LabelFollower::tick(TimePoint) {
  if (!machine_) return;
  const auto& others = serving_.others;
  auto ours = offer_ ? *offer_ : offer::Offer();
  std::erase_if(ours.resources,
                [&](const auto& resource) { return others.contains(resource.name.value); });
  // The MPS daemons' Pods select their nodes by mps.capable: they stay where MPS is configured.
  publisher_.update({.machine = *machine_,
                     .config = as_served(config_, others),
                     .mps_wished = config_.sharing.strategy() == config::SharingStrategy::kMps,
                     .ours = labels::limit_labels(ours)});
}

}  // namespace tranche::agent
