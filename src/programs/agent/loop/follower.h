#pragma once
// A follower acts on each offer: CDI files, device plugins, labels, tenants, notices. Each is made
// by its room's parts() (agent/context/parts.h); nothing else in the agent names it.
//
// It is complete once constructed, and only the agent's loop uses it. It never waits for hardware,
// kubelet or the API server: threads of its own do what may take long.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop/state.h"
#include "base/result.h"
#include "offer/offer.h"
#include "process/handover.h"

namespace tranche::agent {

struct Round {
  const State& state;                         // state.machine is set
  std::shared_ptr<const offer::Offer> offer;  // the offer from now on; never null
};

class Follower {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // A follower's turn in a round. Those of one phase run in the order of the rooms
  // (agent/followers.cpp). kTell is right unless what is handed out depends on the follower.
  enum class Phase {
    kPrepare,  // makes what is handed out: CDI files
    kLog,      // logs the change of the offer before kubelet acts on it
    kHandOut,  // hands it out
    kTell,     // acts on what is handed out, and reports it
  };

  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  virtual ~Follower() = default;

  virtual Phase phase() const { return Phase::kTell; }
  // Called when state or offer differ from the previous round. After an error, later followers of
  // the phases kLog and kHandOut keep what they had, and the round is repeated at the next reading,
  // from the first follower on, so a follower that reports changes must remember what it reported.
  virtual Result<void> follow(const Round& round) = 0;
  // Called while the hardware has not answered yet; `state` has no machine.
  virtual void await_hardware(const State& /*state*/) {}
  // SIGHUP: starts again.
  virtual void restart(TimePoint /*now*/) {}
  // Has kubelet write its checkpoint, which it does after each list of devices.
  virtual void renew_checkpoint() {}

  // Called at every turn of the loop, also before the first follow(). `now` is the clock's.
  virtual void tick(TimePoint /*now*/) {}
  // The latest time for the next tick(); nullopt: whenever the loop turns. A past time means at
  // once, and tick() must move it on.
  virtual std::optional<TimePoint> next_tick() const { return {}; }

  // Why this follower keeps the agent from being ready; empty: it does not.
  virtual std::string trouble() const { return {}; }
  // A remark for people while the agent is ready; empty: none.
  virtual std::string remark() const { return {}; }

  // The predecessor has ended. An error: its work cannot be taken over.
  virtual Result<void> predecessor_ended() { return {}; }
  // The next agent takes over, and the loop has ended: tick() is not called any more. The
  // follower's own threads stop, except for answers to kubelet.
  virtual void rest() {}
  // Copies of the descriptors for the next agent. Called after rest().
  virtual std::vector<process::NamedDescriptor> handed_over() const { return {}; }
  // The next agent serves, and this one is about to end: gives back what would outlive it.
  virtual void leave() {}
  // Called when the agent ends. Containers continue.
  virtual void finish() {}
};

}  // namespace tranche::agent
