#pragma once
// Reports a node whose GPUs are cut in an unplanned way (offer/unplanned_mig.h), as a follower: in
// the log, in the condition TrancheMigPlanned with its Events, and as a remark of `--check`. The
// agent is ready: it serves what there is. In mode `dra` nothing is unplanned: every device is
// listed as what it is.

#include <functional>
#include <optional>
#include <string>

#include "agent/loop/follower.h"
#include "agent/node/condition_report.h"
#include "base/log.h"
#include "base/said_once.h"
#include "config/config.h"
#include "gpu/machine.h"

namespace tranche::agent {

class UnplannedMig final : public Follower {
 public:
  // The Node's label nvidia.com/mig.config, "" if missing; nullopt: the Node is not known.
  using MigConfig = std::function<std::optional<std::string>()>;
  using Report = std::function<void(const ConditionReport&)>;
  // How often the label is read and the Node compared with the condition.
  static constexpr std::chrono::seconds kEach{10};

  // The functions may be empty, without a cluster.
  UnplannedMig(MigConfig mig_config, Report report, const Log& log)
      : mig_config_(std::move(mig_config)), report_(std::move(report)), log_(log) {}

  Result<void> follow(const Round& round) override;
  void tick(TimePoint now) override;
  std::optional<TimePoint> next_tick() const override { return next_; }
  std::string remark() const override { return text_; }

 private:
  MigConfig mig_config_;
  Report report_;
  const Log& log_;
  std::optional<gpu::Machine> machine_;  // nullopt: no round yet
  config::MigStrategy strategy_ = config::MigStrategy::kNone;
  bool for_claims_ = false;  // a claim says itself what it wants
  std::string text_;         // empty: nothing is unplanned
  SaidOnce said_;
  std::optional<TimePoint> next_;
};

// The condition for `text`, from unplanned_mig().
ConditionReport mig_planned_condition(const std::string& text);

}  // namespace tranche::agent
