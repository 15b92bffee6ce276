#pragma once
// What people are told of an offer, as a follower: each change of state in the log, and what keeps
// a Pod waiting as an Event of the Node, each once.

#include <functional>
#include <string>
#include <vector>

#include "agent/loop/follower.h"
#include "agent/node/node_reporter.h"
#include "agent/report.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

// The changes themselves. Behind what can fail, before what serves: a line stands before the
// registration that follows from it.
class ChangeLog final : public Follower {
 public:
  // `log` outlives it.
  explicit ChangeLog(const Log& log) : log_(log) {}
  Result<void> follow(const Round& round) override;

 private:
  const Log& log_;
  std::shared_ptr<const offer::Offer> told_;
};

// What does not work, and which containers run with what is promised no more.
class Notices final : public Follower {
 public:
  using Tell = std::function<void(const NodeNotice&)>;
  using Grants = std::function<std::vector<offer::GrantRecord>()>;

  // `grants`: those that stand; empty: none are stored. `tell`: to the cluster; empty: to nobody.
  // `log` outlives it.
  Notices(Grants grants, Tell tell, const Log& log)
      : grants_(std::move(grants)), tell_(std::move(tell)), log_(log) {}

  Result<void> follow(const Round& round) override;

 private:
  void say_of_grants(const offer::Offer& offer);
  void tell(const NodeNotice& notice) const;
  void tell_withheld(const offer::Offer& offer) const;
  void tell_enforcers(const offer::Offer& offer) const;
  void tell_mps(const Round& round);

  Grants grants_;
  Tell tell_;
  const Log& log_;
  std::shared_ptr<const offer::Offer> told_;  // of which offer withheld resources were told
  SaidOnce said_;
  SaidOnce said_of_mps_;  // by resource
};

}  // namespace tranche::agent
