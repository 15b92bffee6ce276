#pragma once
// Tells unhealthy GPUs by Events, on a thread of its own: it asks kubelet who holds them, and the
// API server which Pods these are. While one of them does not answer, what is told of Pods stays;
// their Events of GPUs that fell meanwhile come with the answer. Without the right to read Pods the
// Node's Event stands alone.

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

  // Sets what is unhealthy from now on. From any thread.
  void follow(const UnhealthyDevices& devices);
  // Brings the Events up to date. One thread calls it, at intervals.
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
