#pragma once
// Reports whether this node's arbiter runs, as the Node's condition TrancheArbiterRuns. Without an
// arbiter, programs that start in limited containers get no GPU memory; their Pods are admitted all
// the same, because they continue when it is back and a refused Pod does not. The condition is
// False after kPatience without a sign of life, which is longer than a roll-out takes, and True
// once an arbiter has run for kSettled, so that one that crashes repeatedly is reported once. A
// node on which it always ran has no such condition.
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

  // Looks once and reports. To be called every few seconds.
  void look();

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  std::filesystem::path arbiter_dir_;
  Report report_;
  const Clock& clock_;
  const Log& log_;
  std::optional<TimePoint> away_since_;   // since it last ran for kSettled; nullopt: it runs
  std::optional<TimePoint> lives_since_;  // nullopt: no sign of life
  bool told_ = false;                     // its absence
};

}  // namespace tranche::agent
