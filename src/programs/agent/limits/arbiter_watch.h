#pragma once
// Whether the arbiter of this node lives, as a condition of the Node: TrancheArbiterRuns. Without
// one, programs that start in limited containers get no GPU memory, so people are told. Such Pods
// are admitted all the same: they go on when it is back, and a Pod that is refused does not. It is
// False once the arbiter has shown no sign of life for kPatience, which a roll-out does not take;
// and True again when one has lived for kSettled, so that one that ends again and again is told
// once. A node on which it always lived has no such condition.
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
