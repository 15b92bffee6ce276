#pragma once
// A follower acts on each offer: CDI files, device plugins, labels, tenants, notices. Each is one
// folder and one line in the agent's list (agent/followers.cpp). Nothing else in the agent names
// it.
//
// A follower is complete once constructed, and only the agent's loop uses it. It never waits for
// hardware, kubelet or the API server: it does what may take long on threads of its own.

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "agent/loop/state.h"

namespace tranche::agent {

// One state and the offer made of it.
struct Round {
  const State& state;                         // state.machine is set
  std::shared_ptr<const offer::Offer> offer;  // the offer advertised from now on; never null
};

class Follower {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  virtual ~Follower() = default;

  // Called in the order of the list when state or offer differ from the round before. After an
  // error those behind that hand out what the others prepare keep what they had. The round is tried
  // again at the next reading, from the first follower on, so a follower that reports changes must
  // remember what it reported.
  virtual Result<void> follow(const Round& round) = 0;
  // Whether it hands out what those before it prepare (CDI files), or tells of that.
  virtual bool hands_out() const { return false; }
  // Called while the hardware has not answered yet; `state` has no machine.
  virtual void await_hardware(const State& /*state*/) {}
  // SIGHUP: does everything anew.
  virtual void restart(TimePoint /*now*/) {}

  // Called at each turn of the loop, no later than next_tick().
  virtual void tick(TimePoint /*now*/) {}
  virtual std::optional<TimePoint> next_tick() const { return {}; }

  // Why this follower keeps the agent from being ready; empty: it does not.
  virtual std::string trouble() const { return {}; }
  // What people should know though the agent is ready; empty: nothing.
  virtual std::string remark() const { return {}; }
  // The next agent takes over: what this one does by itself ends. It still answers kubelet.
  virtual void rest() {}
  // The next agent serves, and this one is about to end: gives back what would outlive it.
  virtual void leave() {}
  // Called when the agent ends. Its containers go on.
  virtual void finish() {}
};

}  // namespace tranche::agent
