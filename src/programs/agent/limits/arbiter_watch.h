#pragma once
// Whether the arbiter of this node runs, as a condition of the Node: TrancheArbiterRuns. Without an
// arbiter, programs that start in limited containers get no GPU memory. Such Pods are admitted all
// the same: they go on when it is back, and a Pod that is refused does not. The condition is False
// once the arbiter has shown no sign of life for kPatience, which is longer than a roll-out takes;
// it is True again when an arbiter has run for kSettled, so that one that crashes again and again
// is reported once. A node on which it always ran has no such condition.
//
// Used by one thread.

#include <filesystem>
#include <functional>
#include <optional>

#include "agent/node/condition_report.h"
#include "base/clock.h"
#include "base/log.h"

namespace tranche::agent {

class ArbiterWatch {
 public:
  static constexpr std::chrono::seconds kPatience{30};
  static constexpr std::chrono::seconds kSettled{10};

  using Report = std::function<void(const ConditionReport&)>;

  // `arbiter_dir`: the arbiter's --state-dir. The references outlive it.
  ArbiterWatch(std::filesystem::path arbiter_dir, Report report, const Clock& clock,
               const Log& log);

  // Looks once, and reports what is so. To be called again every few seconds.
  void look();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  std::filesystem::path arbiter_dir_;
  Report report_;
  const Clock& clock_;
  const Log& log_;
  std::optional<TimePoint> away_since_;   // since it lived for kSettled; nullopt: it does
  std::optional<TimePoint> lives_since_;  // nullopt: it showed no sign of life
  bool told_ = false;                     // that it is away
};

}  // namespace tranche::agent
