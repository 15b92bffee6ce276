#pragma once
// The current Events about unhealthy GPUs: one on the Node, and one on each Pod that holds a device
// of it. GPUs that fall together are one Event with a list. Another fall within ten minutes is
// counted in the same Event, and its recovery in that of the recovery. A function of its inputs and
// the time; used by one thread.

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
  // With the uids of their Pods (holdings/users.h). nullopt: unknown now.
  using Known = std::optional<holdings::Holdings>;
  static constexpr std::chrono::minutes kRemember{10};
  // How long the Event of a recovery stands.
  static constexpr std::chrono::minutes kRecovered{2};

  explicit HealthNotices(std::string node) : node_(std::move(node)) {}

  // The Events at `now`. A holder whose Pod is unknown gets none. While holdings are unknown, the
  // Pods' Events stay.
  cluster::StandingEvents::Events tell(const UnhealthyDevices& devices, const Known& known,
                                       Time now);
  // Whether the holders of fallen devices are unknown since.
  bool owes() const;

 private:
  struct Fall {
    Time since;
    UnhealthyDevices devices;         // when they fell
    std::set<std::string> unhealthy;  // now, of these
    int falls = 1;                    // number of falls of any of them
    int recoveries = 0;               // how often all were healthy again
    Time last;                        // last fall or recovery of one
    std::optional<Time> known{};  // when the holders were last known; nullopt: not since the fall
    cluster::StandingEvents::Events pods{};  // about Pods, at that time
  };

  void follow(const UnhealthyDevices& devices, Time now);
  void tell_node(const Fall& fall, Time now, cluster::StandingEvents::Events& events) const;
  static cluster::StandingEvents::Events tell_pods(const Fall& fall,
                                                   const holdings::Holdings& held);

  std::string node_;
  std::vector<Fall> falls_;
};

}  // namespace tranche::agent
