#include "agent/metrics/metrics_follower.h"

#include <utility>

namespace tranche::agent {

MetricsFollower::MetricsFollower(NodeSampler::Ports ports, config::MetricsOptions options,
                                 const Log& log)
    : sampler_(ports),
      endpoint_(std::move(options), [this] { return sampler_.figures(); }, ports.clock, log) {
  samples_.emplace(kSampleEvery, [this] { sampler_.sample(); });
  keeps_.emplace(kKeepEvery, [this] { endpoint_.keep(); });
}

Result<void> MetricsFollower::follow(const Round& round) {
  sampler_.follow(round.state, round.offer);
  return {};
}

void MetricsFollower::end() {
  keeps_.reset();
  endpoint_.close();
  samples_.reset();
}

}  // namespace tranche::agent
