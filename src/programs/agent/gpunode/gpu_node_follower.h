#pragma once
// The node's GPUNode as a follower: passes each round on, and runs the publisher on its own thread.
// The object outlives the agent, as what containers hold does.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "agent/gpunode/gpu_node_publisher.h"
#include "agent/gpunode/status_source.h"
#include "agent/loop/follower.h"
#include "base/clock.h"

namespace tranche::agent {

class GpuNodeFollower final : public Follower {
 public:
  struct Parts {
    GpuNodeObject object;
    StatusSource::Parts source;
    const Clock& clock;
    const Log& log;
  };
  explicit GpuNodeFollower(Parts parts);
  ~GpuNodeFollower() override { end(); }

  Result<void> follow(const Round& round) override;
  // The next agent writes from now on.
  void rest() override { end(); }
  void finish() override { end(); }

 private:
  void run(const std::stop_token& stop);
  void end();

  const Clock& clock_;
  StatusSource source_;
  GpuNodePublisher publisher_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  bool woken_ = false;
  std::jthread thread_;  // last: it uses the other members
};

}  // namespace tranche::agent
