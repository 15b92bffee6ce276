#pragma once
// The health of the GPUs as a follower: the condition TrancheGpuHealthy, what `--check` says of it,
// and whoever tells it by Events (HealthReporter). An agent with an unhealthy GPU is ready: it does
// its part, and says what it sees.

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "agent/health/gpu_health.h"
#include "agent/loop/follower.h"

namespace tranche::agent {

class HealthFollower final : public Follower {
 public:
  using Report = std::function<void(const ConditionReport&)>;
  using Tell = std::function<void(const UnhealthyDevices&)>;
  // The Node is compared with the condition so often: somebody else may have changed it.
  static constexpr std::chrono::seconds kEach{10};

  // Both may be empty.
  HealthFollower(Report report, Tell tell) : report_(std::move(report)), tell_(std::move(tell)) {}

  Result<void> follow(const Round& round) override;
  void tick(TimePoint now) override;
  std::string remark() const override;

 private:
  Report report_;
  Tell tell_;
  std::optional<UnhealthyDevices> devices_;  // nullopt: no round yet
  std::size_t gpus_ = 0;
  std::optional<TimePoint> reported_;
};

}  // namespace tranche::agent
