#include "agent/labels/label_follower.h"

#include <utility>

#include "labels/limit_labels.h"

namespace tranche::agent {

Result<void> LabelFollower::follow(const Round& round) {
  take(round.state, labels::limit_labels(*round.offer));
  return {};
}

void LabelFollower::await_hardware(const State& state) { take(state, {}); }

void LabelFollower::take(const State& state, labels::Labels ours) {
  // The labels' timestamp is the time when the configuration took effect.
  if (std::exchange(config_revision_, state.config_revision) != state.config_revision) {
    publisher_.restamp();
  }
  machine_ = state.machine.value_or(gpu::Machine());
  machine_->host = state.host;
  config_ = state.config;
  ours_ = std::move(ours);
}

void LabelFollower::tick(TimePoint) {
  if (machine_) publisher_.update(*machine_, config_, ours_);
}

}  // namespace tranche::agent
