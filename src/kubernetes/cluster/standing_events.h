#pragma once
// Events about what stands for a while: one Event for each of them, however often it is seen. What
// happens again (another process of the same container) is counted in the Event's series, at most
// once a minute; what goes on standing is said again before the API server forgets it (an hour);
// what is gone is not said any more, and counts on when it is back within ten minutes.
//
// An Event's time is when what it tells began, so a reporter that was restarted names the same
// Event and makes no second one. Works over the port; used by one thread at a time.

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

// What stands now, as an Event tells it.
struct StandingEvent {
  Event event;                      // with its time; who reports is filled in
  std::set<std::string> instances;  // who it is that does it, now
};

class StandingEvents {
 public:
  static constexpr std::chrono::minutes kCountAtMost{1};
  static constexpr std::chrono::minutes kSayAgain{30};
  static constexpr std::chrono::minutes kRemember{10};
  // After a failure nothing is tried for so long.
  static constexpr std::chrono::seconds kPause{30};
  // Further ones are not told (and that is logged): what makes them is not ours.
  static constexpr std::size_t kMost = 64;

  using Events = std::map<std::string, StandingEvent>;  // by a key that stays the same

  // `reporter`: reportingController; `instance`: the node or Pod. The references outlive it.
  StandingEvents(Objects& objects, std::string reporter, std::string instance, const Clock& clock,
                 const Log& log);

  // What stands now: all of it. To be called again at any time, also when nothing changed.
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
