#pragma once
// Reports unhealthy GPUs by Events, on its own thread: asks kubelet who holds them, and the API
// server for the Pods. While one of them does not answer, the Pods' Events stay; those for new
// falls come with the answer. Without the right to read Pods only the Node gets an Event.

#include <mutex>
#include <string>

#include "agent/health/health_notices.h"
#include "agent/holdings/book.h"
#include "agent/node/pods_of_node.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/client/standing_events.h"
#include "cluster/objects.h"

namespace tranche::agent {

class HealthReporter {
 public:
  struct Parts {
    cluster::Objects& objects;
    HolderAnswers& holders;
    Book& book;
    PodsOfNode* pods = nullptr;  // null: Pods may not be read
    std::string node;            // its name
    const Clock& clock;
    const Log& log;
  };

  explicit HealthReporter(Parts parts);

  // Sets what is unhealthy. From any thread.
  void follow(const UnhealthyDevices& devices);
  // Updates the Events. One thread calls it, at intervals.
  void look(const cluster::Call& call);

 private:
  HealthNotices::Known ask(const UnhealthyDevices& devices);

  Parts parts_;
  std::mutex mutex_;
  UnhealthyDevices devices_;  // guarded by mutex_
  HealthNotices notices_;
  cluster::StandingEvents events_;
};

}  // namespace tranche::agent
