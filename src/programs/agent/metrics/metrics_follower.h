#pragma once
// The metrics as a follower: passes each round on to the sampler, and has the sampler and the
// endpoint work on threads of their own.

#include <functional>
#include <memory>
#include <optional>

#include "agent/loop/follower.h"
#include "agent/metrics/metrics_endpoint.h"
#include "agent/metrics/node_sampler.h"
#include "agent/metrics/source_watch.h"
#include "process/periodic.h"

namespace tranche::agent {

class MetricsFollower final : public Follower {
 public:
  static constexpr std::chrono::seconds kSampleEvery{1};
  static constexpr std::chrono::seconds kKeepEvery{1};

  // `tell`: records an Event of the Node; may be empty.
  MetricsFollower(NodeSampler::Ports ports, config::MetricsOptions options,
                  std::function<void(const NodeNotice&)> tell, const Log& log);

  Result<void> follow(const Round& round) override;
  // The next agent serves at the same port.
  void rest() override { end(); }
  void finish() override { end(); }

 private:
  void end();
  void sample();

  const Clock& clock_;
  const std::function<void(const NodeNotice&)> tell_;
  const Log& log_;
  NodeSampler sampler_;
  SourceWatch sources_;  // of the sampling thread
  MetricsEndpoint endpoint_;
  std::optional<process::Periodic> samples_;
  std::optional<process::Periodic> keeps_;
};

}  // namespace tranche::agent
