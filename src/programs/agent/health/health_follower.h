#pragma once
// The health of the GPUs as a follower: the condition TrancheGpuHealthy, the text for `--check`,
// and input for the Events (HealthReporter). An agent with an unhealthy GPU is ready: it works and
// reports what it sees.

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
  // How often the Node is compared with the condition: somebody else may have changed it.
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
