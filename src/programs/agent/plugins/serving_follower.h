#pragma once
// Sees to it that kubelet offers what this agent offers, and tells people when it does not. Kubelet
// itself is asked (GetAllocatableResources): every ten seconds, after each registration, after each
// refused Allocate, and every second while something is wrong or in doubt. What two answers a
// second apart say is true, but for the moment after a registration.
//
// - The condition TrancheServing is True only while kubelet offers exactly our healthy ids.
// - A lost registration is renewed. What another plugin serves is taken back with --take-over, and
//   left to it without (decision 25). Both with back-off, so that two plugins do not take a
//   resource from each other each second.
// - Refusals and lost sockets are Events, bounded (NoticeLimiter).
//
// Used from the agent's loop. Asking kubelet is left to another thread: ask() has it asked, and the
// answer comes by answered().

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
  // Kubelet takes the list of a new registration within this.
  static constexpr std::chrono::seconds kListed{2};
  // A resource may be without registration for so long before that is told.
  static constexpr std::chrono::seconds kPatience{30};
  // So many questions without an answer: whether we are served is not known.
  static constexpr int kSilences = 3;
  // After this time without trouble the back-off of registrations begins anew.
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
    std::function<void()> look_again;  // has an offer made anew, with other others()
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
    Served served = Served::kOurs;   // as the last answer says
    std::optional<TimePoint> since;  // the first of the answers in a row that say so
    TimePoint registered{};          // the last time
    bool refused = false;            // kubelet asked us for what is not ours since it was ours
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
  // Whether what the last answer says may be acted upon.
  static bool is_certain(const Standing& standing, TimePoint now);
  void settle(Standing& standing, TimePoint now) const;
  // Whether it is registered again.
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
  bool doubt_ = false;  // the last answer may be a passing one
  int silences_ = 0;
  bool asking_ = false;
  bool stale_ = false;                // the offer changed since kubelet was asked
  std::optional<TimePoint> look_at_;  // empty: not before something happens
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
