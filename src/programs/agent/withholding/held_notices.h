#pragma once
// Reports which devices are withheld for which Pods: in the log, as Events on the Node, and as the
// condition TrancheDevicesFree. A device is reported once kubelet has named its holder, so nothing
// is reported about Pods that are gone.

#include <functional>
#include <map>
#include <string>

#include "agent/loop/follower.h"
#include "agent/node/condition_report.h"
#include "agent/node/node_reporter.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

class HeldNotices final : public Follower {
 public:
  // Each may be empty, without a cluster.
  using Tell = std::function<void(const NodeNotice&)>;
  using Report = std::function<void(const ConditionReport&)>;
  HeldNotices(Tell tell, Report report, const Log& log)
      : tell_(std::move(tell)), report_(std::move(report)), log_(log) {}

  Result<void> follow(const Round& round) override;

 private:
  void say_what_is_in_force(const State& state);
  void tell_held(const offer::Offer& offer);
  void tell_free(const offer::Offer& offer);

  Tell tell_;
  Report report_;
  const Log& log_;
  SaidOnce said_;
  std::map<std::string, std::string> told_;  // by device: the last text
};

// The condition for what the offer withholds.
ConditionReport devices_free_condition(const offer::Offer& offer);

}  // namespace tranche::agent
