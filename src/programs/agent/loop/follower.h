#pragma once
// A follower acts on each offer: CDI files, device plugins, labels, tenants, notices. Each is made
// by its room's parts() (agent/context/parts.h). Nothing else in the agent names it.
//
// A follower is complete once constructed, and only the agent's loop uses it. It never waits for
// hardware, kubelet or the API server: it does what may take long on threads of its own.

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

// One state and the offer made of it.
struct Round {
  const State& state;                         // state.machine is set
  std::shared_ptr<const offer::Offer> offer;  // the offer advertised from now on; never null
};

class Follower {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  // When a follower has its turn in a round. Those of one phase follow in the order of the rooms
  // (agent/followers.cpp). kTell is right unless what is handed out depends on the follower.
  enum class Phase {
    kPrepare,  // makes what is handed out: CDI files
    kLog,      // logs the change of the offer before kubelet acts on it
    kHandOut,  // hands it out
    kTell,     // acts on what is handed out, and tells people
  };

  Follower() = default;
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;
  virtual ~Follower() = default;

  virtual Phase phase() const { return Phase::kTell; }
  // Called when state or offer differ from the round before; may do nothing. After an error those
  // of the phases kLog and kHandOut that come later keep what they had, and the round is tried
  // again at the next reading, from the first follower on, so a follower that reports changes must
  // remember what it reported.
  virtual Result<void> follow(const Round& round) = 0;
  // Called while the hardware has not answered yet; `state` has no machine.
  virtual void await_hardware(const State& /*state*/) {}
  // SIGHUP: does everything anew.
  virtual void restart(TimePoint /*now*/) {}
  // Kubelet is to write its checkpoint anew, which it does behind each list of devices.
  virtual void renew_checkpoint() {}

  // Called at every turn of the loop, from the start on, also before the first follow(). `now` is
  // the clock's.
  virtual void tick(TimePoint /*now*/) {}
  // When tick() is to be called at the latest; nullopt: whenever the loop turns anyway. A time that
  // is past means at once, and tick() must move it on.
  virtual std::optional<TimePoint> next_tick() const { return {}; }

  // Why this follower keeps the agent from being ready; empty: it does not.
  virtual std::string trouble() const { return {}; }
  // What people should know though the agent is ready; empty: nothing.
  virtual std::string remark() const { return {}; }

  // The agent that handed over to this one has ended. An error: what it did cannot be taken over.
  virtual Result<void> predecessor_ended() { return {}; }
  // The next agent takes over, and the loop has ended: tick() is not called any more. What the
  // follower does on threads of its own ends, but for answers to kubelet.
  virtual void rest() {}
  // Copies of the descriptors that the next agent is to have. Called after rest().
  virtual std::vector<process::NamedDescriptor> handed_over() const { return {}; }
  // The next agent serves, and this one is about to end: gives back what would outlive it.
  virtual void leave() {}
  // Called when the agent ends. Its containers go on.
  virtual void finish() {}
};

}  // namespace tranche::agent
