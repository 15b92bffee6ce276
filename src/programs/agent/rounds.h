#pragma once
// The agent's rounds: makes an offer from the State by inputs and stages, and has the followers act
// on it. What failed is repeated with the next round. Used by the agent's loop.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/followers.h"
#include "agent/node/node_reporter.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"
#include "offer/offer.h"

namespace tranche::agent {

class Rounds {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  // `tell`: records an Event of the Node; empty: there is no cluster.
  Rounds(Followers& followers, std::function<void(const NodeNotice&)> tell, const Clock& clock,
         const Log& log)
      : followers_(followers), tell_(std::move(tell)), clock_(clock), log_(log) {}

  // Runs the inputs, which fill `state`, whose machine is set.
  void run(State& state);
  // The next round is followed even if nothing has changed.
  void follow_anew() { anew_ = true; }
  // When an input wants to look again; nullopt: not before something else changes.
  std::optional<TimePoint> next() const { return look_due_; }

  // Why the agent is not ready; empty: it is.
  std::string trouble(const State& state) const;
  // What of the configuration cannot be kept here, and why; empty: nothing.
  std::string in_part() const;
  // The same for people, appended to why the agent is ready; empty: nothing.
  std::string in_part_remark() const;
  // The followers' remarks, each after "; ".
  std::string remarks() const;

 private:
  offer::Offer make_offer(State& state);
  Result<void> follow(const State& state, offer::Offer offer);
  void complain(const Error& error);

  Followers& followers_;
  const std::function<void(const NodeNotice&)> tell_;
  const Clock& clock_;
  const Log& log_;
  // The state and offer that all followers acted on last.
  struct Followed {
    State state;
    std::shared_ptr<const offer::Offer> offer;
  };
  std::optional<Followed> followed_;
  std::string refused_;  // why the last offer is not followed; empty: it is
  bool anew_ = false;
  std::optional<TimePoint> look_due_;
  SaidOnce said_;
};

}  // namespace tranche::agent
