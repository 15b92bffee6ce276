#pragma once
// The Events that stand about unhealthy GPUs: one on the Node, and one on each Pod that holds a
// device of it. GPUs that fall together are one Event with a list. One that falls again within ten
// minutes is counted in the Event that it has, and its recovery in that of its recovery. A function
// of what it is given and of the time; used by one thread.

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/health/gpu_health.h"
#include "cluster/pod.h"
#include "cluster/pod_resources.h"
#include "cluster/standing_events.h"

namespace tranche::agent {

class HealthNotices {
 public:
  using Time = cluster::Event::Time;
  using Holders = std::vector<cluster::HeldDevices>;
  static constexpr std::chrono::minutes kRemember{10};
  // A recovery stands for so long.
  static constexpr std::chrono::minutes kRecovered{2};

  explicit HealthNotices(std::string node) : node_(std::move(node)) {}

  // What stands at `now`. `pods`: the Pods of this node; a holder that is none of them gets no
  // Event.
  cluster::StandingEvents::Events tell(const UnhealthyDevices& devices, const Holders& holders,
                                       const std::vector<cluster::Pod>& pods, Time now);

 private:
  // GPUs that fell together.
  struct Fall {
    Time since;
    UnhealthyDevices devices;         // as they were when they fell
    std::set<std::string> unhealthy;  // of them, now
    int falls = 1;                    // how often one of them fell
    int recoveries = 0;               // how often all of them were healthy again
    Time last;                        // when one of them fell or recovered
  };

  void follow(const UnhealthyDevices& devices, Time now);
  void tell_node(const Fall& fall, Time now, cluster::StandingEvents::Events& events) const;
  void tell_pods(const Fall& fall, const Holders& holders, const std::vector<cluster::Pod>& pods,
                 cluster::StandingEvents::Events& events) const;

  std::string node_;
  std::vector<Fall> falls_;
};

}  // namespace tranche::agent
