#include "agent/metrics/metrics_follower.h"

#include <utility>

namespace tranche::agent {

MetricsFollower::MetricsFollower(NodeSampler::Ports ports, config::MetricsOptions options,
                                 std::function<void(const NodeNotice&)> tell, const Log& log)
    : clock_(ports.clock),
      tell_(std::move(tell)),
      log_(log),
      sampler_(ports),
      endpoint_(std::move(options), [this] { return sampler_.figures(); }, clock_, log) {
  samples_.emplace(kSampleEvery, [this] { sample(); });
  keeps_.emplace(kKeepEvery, [this] { endpoint_.keep(); });
}

void MetricsFollower::sample() {
  sampler_.sample();
  const auto checks = sampler_.checks();
  if (checks.empty()) return;
  const auto notice = sources_.look(checks, clock_.now());
  if (!notice) return;
  if (notice->warning) {
    log_.warn(notice->note);
  } else {
    log_.info(notice->note);
  }
  if (tell_) tell_(*notice);
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
