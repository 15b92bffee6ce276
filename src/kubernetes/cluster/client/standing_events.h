#pragma once
// Events about lasting states: one Event per state, however often it is seen. Repeated occurrences
// (another process of the same container) are counted in the Event's series, at most once a minute.
// A continuing state is reported again before the API server drops the Event (an hour). A state
// that has ended is no longer reported, and its count continues if it returns within ten minutes.
//
// An Event's time is when its state began, so a restarted reporter refers to the same Event and
// creates no second one. Works over the port; used by one thread at a time.

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/event.h"
#include "cluster/objects.h"

namespace tranche::cluster {

// A current state, as an Event reports it.
struct StandingEvent {
  Event event;                      // with its time; the reporter is filled in
  std::set<std::string> instances;  // the instances that currently cause it
};

class StandingEvents {
 public:
  static constexpr std::chrono::minutes kCountAtMost{1};
  static constexpr std::chrono::minutes kSayAgain{30};
  static constexpr std::chrono::minutes kRemember{10};
  // After a failure nothing is attempted for this long.
  static constexpr std::chrono::seconds kPause{30};
  // Further ones are not reported (which is logged): their causes are outside our control.
  static constexpr std::size_t kMost = 64;

  using Events = std::map<std::string, StandingEvent>;  // by a stable key

  // `reporter`: reportingController; `instance`: the node or Pod. The references must outlive it.
  StandingEvents(Objects& objects, std::string reporter, std::string instance, const Clock& clock,
                 const Log& log);

  // Sets all current states. May be called at any time, even if nothing changed.
  void tell(const Events& events, const Call& call);

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  struct Told {
    Event event;  // as the API server has it
    std::set<std::string> instances;
    int count = 0;
    TimePoint said;
    int said_count = 0;
    TimePoint seen;
  };

  Result<void> tell_one(const std::string& key, const StandingEvent& event, const Call& call);
  Result<void> create(Told& told, const Call& call);
  Result<void> say_again(Told& told, const Call& call);

  Objects& objects_;
  const std::string reporter_;
  const std::string instance_;
  const Clock& clock_;
  const Log& log_;
  std::map<std::string, Told> told_;
  TimePoint not_before_{};
  std::string complaint_;  // logged last
  bool too_many_said_ = false;
};

}  // namespace tranche::cluster
