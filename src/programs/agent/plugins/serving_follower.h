#pragma once
// Makes sure that kubelet offers what this agent offers, and reports when it does not. It asks
// kubelet (GetAllocatableResources) every ten seconds, after each registration and each refused
// Allocate, and every second while something is wrong or in doubt. Two equal answers a second apart
// are believed, except just after a registration.
//
// - The condition TrancheServing is True only while kubelet offers exactly our healthy ids.
// - A lost registration is renewed. What another plugin serves is taken back with --take-over, and
//   left to it without (decision 25). Both with back-off, so that two plugins do not take a
//   resource from each other each second.
// - Refusals and lost sockets are Events, bounded (NoticeLimiter).
//
// Used from the agent's loop. Another thread asks kubelet: ask() starts it, answered() gets the
// answer.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/loop/follower.h"
#include "agent/loop/stage.h"
#include "agent/node/condition_report.h"
#include "agent/node/notice_limiter.h"
#include "agent/plugins/comparison.h"
#include "agent/plugins/plugin_follower.h"
#include "agent/plugins/serving_standing.h"
#include "base/backoff.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/said_once.h"

namespace tranche::agent {

class ServingFollower final : public Follower {
 public:
  static constexpr std::chrono::seconds kEach{10};
  static constexpr std::chrono::seconds kSoon{1};
  // Time within which kubelet takes the list of a new registration.
  static constexpr std::chrono::seconds kListed{2};
  // Longest time without registration before it is reported.
  static constexpr std::chrono::seconds kPatience{30};
  // After this number of unanswered questions it is unknown whether we are served.
  static constexpr int kSilences = 3;
  // Time without trouble after which the back-off of registrations starts again.
  static constexpr std::chrono::minutes kCalm{10};

  // What the follower needs of the device plugins (PluginFollower).
  struct Plugins {
    std::function<bool(const std::string& resource)> is_registered;
    std::function<std::string(const std::string& resource)> socket_trouble;
    std::function<void(const std::string& resource)> register_again;
    std::function<std::vector<PluginEvent>()> take_events;
  };
  struct Parts {
    Plugins plugins;
    std::function<void()> ask;
    std::function<void()> look_again;                    // has an offer made with the new others()
    std::function<void(const ConditionReport&)> report;  // may be empty
    NoticeLimiter::Tell tell;                            // may be empty
    bool take_over = false;
    const Clock& clock;
    const Log& log;
  };

  explicit ServingFollower(Parts parts);

  Result<void> follow(const Round& round) override;
  Phase phase() const override { return Phase::kHandOut; }
  void tick(TimePoint now) override;
  std::optional<TimePoint> next_tick() const override;
  std::string trouble() const override;

  void answered(const Result<cluster::AllocatableDevices>& answer);

  ServingStanding standing() const { return {.others = others_}; }

 private:
  struct Standing {
    Served served = Served::kOurs;   // in the last answer
    std::optional<TimePoint> since;  // first of the equal answers in a row
    TimePoint registered{};          // the last time
    bool refused = false;            // kubelet asked us for something else since it was ours
    bool bad = false;
    std::optional<TimePoint> unregistered;  // since when
    TimePoint good_since{};
    Backoff again{.first = std::chrono::seconds(1), .longest = std::chrono::minutes(1)};
    TimePoint again_at{};
  };
  // Why TrancheServing is not True.
  struct Problem {
    std::string reason;
    std::string text;
    bool serves = false;  // our own list is served all the same
  };

  void on_event(const PluginEvent& event, TimePoint now);
  void on_refusal(const PluginEvent& event, TimePoint now);
  void on_socket_lost(const std::string& resource, TimePoint now);
  void on_silence(const Error& error);
  void judge(const cluster::AllocatableDevices& kubelets, TimePoint now);
  std::optional<Problem> judge(const std::string& resource, const ServedResource& found,
                               TimePoint now);
  std::optional<Problem> await_registration(const std::string& resource, Standing& standing,
                                            TimePoint now);
  // Whether the last answer may be acted upon.
  static bool is_certain(const Standing& standing, TimePoint now);
  void settle(Standing& standing, TimePoint now) const;
  // True: it is registered again.
  bool mend(const std::string& resource, Standing& standing, TimePoint now) const;
  void tell_mended(const std::string& resource, const Problem& problem, TimePoint now);
  Problem describe(const std::string& resource, const ServedResource& found,
                   const Standing& standing) const;
  void judge_rivals(const cluster::AllocatableDevices& kubelets);
  void say();

  Parts parts_;
  NoticeLimiter notices_;
  SaidOnce said_;
  std::shared_ptr<const offer::Offer> offer_;  // null: no round yet
  OurIds ours_;
  std::map<std::string, Standing> standings_;  // by resource
  std::map<std::string, int> others_;
  std::vector<std::string> rivals_;  // in the last answer
  std::vector<Problem> problems_;
  bool doubt_ = false;  // the last answer may be transient
  int silences_ = 0;
  bool asking_ = false;
  bool stale_ = false;                // the offer changed since kubelet was asked
  std::optional<TimePoint> look_at_;  // nullopt: not before the next event
};

class ServingInput final : public Input {
 public:
  explicit ServingInput(const ServingFollower& serving) : serving_(serving) {}
  void look(const offer::Offer& /*wished*/, State& state) override {
    state.set(serving_.standing());
  }

 private:
  const ServingFollower& serving_;
};

}  // namespace tranche::agent
