#pragma once
// The Events that stand about unhealthy GPUs: one on the Node, and one on each Pod that holds a
// device of it. GPUs that fall together are one Event with a list. One that falls again within ten
// minutes is counted in the Event that it has, and its recovery in that of its recovery. A function
// of what it is given and of the time; used by one thread.

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/health/gpu_health.h"
#include "cluster/client/standing_events.h"
#include "holdings/holdings.h"

namespace tranche::agent {

class HealthNotices {
 public:
  using Time = cluster::Event::Time;
  // With the uids of their Pods (holdings/users.h). nullopt: it is not known now who holds what.
  using Known = std::optional<holdings::Holdings>;
  static constexpr std::chrono::minutes kRemember{10};
  // A recovery stands for so long.
  static constexpr std::chrono::minutes kRecovered{2};

  explicit HealthNotices(std::string node) : node_(std::move(node)) {}

  // What stands at `now`. A holder whose Pod is not known gets no Event. While it is not known
  // who holds what, what stood about Pods stands on.
  cluster::StandingEvents::Events tell(const UnhealthyDevices& devices, const Known& known,
                                       Time now);
  // Whether devices have fallen, and it was not known since who holds them.
  bool owes() const;

 private:
  // GPUs that fell together.
  struct Fall {
    Time since;
    UnhealthyDevices devices;         // as they were when they fell
    std::set<std::string> unhealthy;  // of them, now
    int falls = 1;                    // how often one of them fell
    int recoveries = 0;               // how often all of them were healthy again
    Time last;                        // when one of them fell or recovered
    std::optional<Time> known{};  // when it was known last who held them; nullopt: since no fall
    cluster::StandingEvents::Events pods{};  // about Pods, as of then
  };

  void follow(const UnhealthyDevices& devices, Time now);
  void tell_node(const Fall& fall, Time now, cluster::StandingEvents::Events& events) const;
  static cluster::StandingEvents::Events tell_pods(const Fall& fall,
                                                   const holdings::Holdings& held);

  std::string node_;
  std::vector<Fall> falls_;
};

}  // namespace tranche::agent
