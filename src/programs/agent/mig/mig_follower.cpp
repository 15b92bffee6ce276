#include "agent/mig/mig_follower.h"

namespace tranche::agent {

MigFollower::MigFollower(std::shared_ptr<MigManager> manager)
    : manager_(std::move(manager)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

MigFollower::~MigFollower() { end(); }

Result<void> MigFollower::follow(const Round& round) {
  manager_->follow({.state = round.state, .offer = round.offer});
  wake();
  return {};
}

void MigFollower::tick(TimePoint /*now*/) { wake(); }

void MigFollower::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto wait = manager_->turn(stop);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, stop, wait, [this] { return woken_; });
    woken_ = false;
  }
}

void MigFollower::wake() {
  {
    const std::scoped_lock lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

void MigFollower::end() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace tranche::agent
