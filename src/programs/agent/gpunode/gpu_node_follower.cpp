#include "agent/gpunode/gpu_node_follower.h"

#include <utility>

namespace tranche::agent {

GpuNodeFollower::GpuNodeFollower(Parts parts)
    : clock_(parts.clock),
      source_(std::move(parts.source)),
      publisher_(std::move(parts.object), source_, parts.log),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Result<void> GpuNodeFollower::follow(const Round& round) {
  source_.follow(round.state, round.offer);
  {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
  return {};
}

void GpuNodeFollower::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto next = publisher_.turn(clock_.now(), stop);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, next - clock_.now(), [this] { return woken_; });
    woken_ = false;
  }
}

void GpuNodeFollower::end() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tranche::agent
