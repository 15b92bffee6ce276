#pragma once
// Who follows an offer: CDI files, device plugins, labels, tenants, notices. Each is one folder and
// one line in the agent's list (agent/followers.cpp); nothing else in the agent names it.
//
// A follower is born complete and is used by the agent's loop alone. It never waits for hardware,
// kubelet or the API server: what may take long it does on threads of its own.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/loop/state.h"

namespace tranche::agent {

// What is to be followed.
struct Round {
  const State& state;                         // with a machine
  std::shared_ptr<const offer::Offer> offer;  // what is advertised from now on; never null
};

class Follower {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  virtual ~Follower() = default;

  // Called in the order of the list, when state or offer differ from the round before. An error
  // ends the round: followers behind this one keep what they had. It is tried again at the next
  // reading, from the first follower on, so who tells of changes remembers what it told.
  virtual Result<void> follow(const Round& round) = 0;
  // The hardware has not answered yet; `state` has no machine.
  virtual void await_hardware(const State& /*state*/) {}
  // SIGHUP: all that it does is done anew.
  virtual void restart(TimePoint /*now*/) {}

  // At each turn of the loop, at the latest when next_tick() says.
  virtual void tick(TimePoint /*now*/) {}
  virtual std::optional<TimePoint> next_tick() const { return {}; }

  // Why the agent is not ready; empty: nothing is wrong here.
  virtual std::string trouble() const { return {}; }
  // The agent ends, and its containers go on.
  virtual void finish() {}
};

}  // namespace tranche::agent
