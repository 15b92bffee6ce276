#pragma once
// Runs the manager of MIG layouts on its own thread and passes it each round of the loop; an input
// takes out of service what is being changed.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "agent/loop/follower.h"
#include "agent/loop/stage.h"
#include "agent/mig/mig_manager.h"

namespace tranche::agent {

class MigInput final : public Input {
 public:
  explicit MigInput(std::shared_ptr<const MigManager> manager) : manager_(std::move(manager)) {}
  void look(const offer::Offer& /*wished*/, State& state) override {
    state.set(manager_->standing(*state.machine));
  }

 private:
  std::shared_ptr<const MigManager> manager_;
};

class MigFollower final : public Follower {
 public:
  explicit MigFollower(std::shared_ptr<MigManager> manager);
  ~MigFollower() override;

  Result<void> follow(const Round& round) override;
  // The Node may have changed.
  void tick(TimePoint now) override;
  std::string remark() const override { return manager_->remark(); }
  // The next agent continues the change.
  void rest() override { end(); }
  void finish() override { end(); }

 private:
  void run(const std::stop_token& stop);
  void wake();
  void end();

  std::shared_ptr<MigManager> manager_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool woken_ = false;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace tranche::agent
