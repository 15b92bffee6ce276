#pragma once
// The metrics as a follower: passes each round on to the sampler, and has the sampler and the
// endpoint work on threads of their own.

#include <memory>
#include <optional>

#include "agent/loop/follower.h"
#include "agent/metrics/metrics_endpoint.h"
#include "agent/metrics/node_sampler.h"
#include "process/periodic.h"

namespace tranche::agent {

class MetricsFollower final : public Follower {
 public:
  static constexpr std::chrono::seconds kSampleEvery{1};
  static constexpr std::chrono::seconds kKeepEvery{1};

  MetricsFollower(NodeSampler::Ports ports, config::MetricsOptions options, const Log& log);

  Result<void> follow(const Round& round) override;
  // The next agent serves at the same port.
  void rest() override { end(); }
  void finish() override { end(); }

 private:
  void end();

  NodeSampler sampler_;
  MetricsEndpoint endpoint_;
  std::optional<process::Periodic> samples_;
  std::optional<process::Periodic> keeps_;
};

}  // namespace tranche::agent
