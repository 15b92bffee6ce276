#pragma once
// Reports which devices are withheld for which Pods: in the log, as Events on the Node, and as the
// condition TrancheDevicesFree. Withheld is what is held as the configuration promised it before,
// or in the node's other mode. A device is reported once kubelet has named its holder, so nothing
// is reported about Pods that are gone.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop/follower.h"
#include "agent/node/condition_report.h"
#include "agent/node/node_reporter.h"
#include "base/log.h"
#include "base/said_once.h"
#include "holdings/holding.h"

namespace tranche::agent {

class HeldNotices final : public Follower {
 public:
  // Each may be empty, without a cluster.
  using Tell = std::function<void(const NodeNotice&)>;
  using Report = std::function<void(const ConditionReport&)>;
  // What claims hold; nullopt: not known. Empty: there are no claims.
  using Claimed = std::function<std::optional<std::vector<holdings::Holding>>()>;
  HeldNotices(Claimed claimed, Tell tell, Report report, const Log& log)
      : claimed_(std::move(claimed)),
        tell_(std::move(tell)),
        report_(std::move(report)),
        log_(log) {}

  Result<void> follow(const Round& round) override;

 private:
  using Lines = std::map<std::string, std::string>;  // by device: who holds it, in words

  void say_what_is_in_force(const State& state);
  Lines lines_of(const Round& round) const;
  std::vector<holdings::Holding> of_the_other_mode(const State& state) const;
  void tell_held(const Lines& held);
  void tell_free(const Lines& held);

  Claimed claimed_;
  Tell tell_;
  Report report_;
  const Log& log_;
  SaidOnce said_;
  Lines told_;
};

}  // namespace tranche::agent
