#pragma once
// Reports about the offer, as followers: each change of state in the log, and what keeps a Pod
// waiting as an Event on the Node, each once.

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "agent/loop/follower.h"
#include "agent/node/node_reporter.h"
#include "agent/notices/report.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

// Logs the changes between offers, before the registration that follows from them.
class ChangeLog final : public Follower {
 public:
  explicit ChangeLog(const Log& log) : log_(log) {}
  Result<void> follow(const Round& round) override;
  Phase phase() const override { return Phase::kLog; }

 private:
  const Log& log_;
  std::shared_ptr<const offer::Offer> told_;
};

// Reports what does not work, and which running containers have a grant that the offer no longer
// backs.
class Notices final : public Follower {
 public:
  using Tell = std::function<void(const NodeNotice&)>;
  using Grants = std::function<std::vector<offer::GrantRecord>()>;

  // How often grants are looked at: kubelet names their containers between rounds.
  static constexpr std::chrono::seconds kLook{10};
  // `grants`: returns the grants of running containers; empty: none are stored. `tell`: records an
  // Event in the cluster; empty: there is none.
  Notices(Grants grants, Tell tell, const Log& log)
      : grants_(std::move(grants)), tell_(std::move(tell)), log_(log) {}

  Result<void> follow(const Round& round) override;
  void tick(TimePoint now) override;

 private:
  void say_of_grants(const offer::Offer& offer);
  void say_and_tell(const std::string& topic, const char* reason, const char* action,
                    const std::string& line);
  void tell(const NodeNotice& notice) const;
  void tell_withheld(const offer::Offer& offer) const;
  void tell_enforcers(const offer::Offer& offer) const;
  void tell_driver(const State& state);
  void tell_mps(const Round& round);
  void tell_claims(const State& state);

  Grants grants_;
  Tell tell_;
  const Log& log_;
  std::shared_ptr<const offer::Offer> told_;  // whose withheld resources were reported last
  TimePoint looked_{};
  SaidOnce said_;
  SaidOnce said_of_mps_;  // by resource
};

}  // namespace tranche::agent
