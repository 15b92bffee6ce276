#include "agent/health/health_follower.h"

#include <fmt/format.h>

namespace tranche::agent {

Result<void> HealthFollower::follow(const Round& round) {
  const auto& machine = *round.state.machine;
  auto devices = unhealthy_devices(machine, round.state.health);
  gpus_ = machine.gpus.size();
  if (devices_ == devices) return {};
  devices_ = std::move(devices);
  reported_.reset();
  if (tell_) tell_(*devices_);
  return {};
}

void HealthFollower::tick(TimePoint now) {
  if (!devices_ || !report_ || (reported_ && now - *reported_ < kEach)) return;
  reported_ = now;
  report_(health_condition(*devices_, gpus_));
}

std::string HealthFollower::remark() const {
  if (!devices_ || devices_->empty()) return {};
  return fmt::format("{} of {} GPUs unhealthy: {}", devices_->size(), gpus_,
                     health_condition(*devices_, gpus_).message);
}

}  // namespace tranche::agent
