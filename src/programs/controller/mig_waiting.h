#pragma once
// Tells Pods that wait for GPUs when MIG is the reason: an Event on the Pod says what the nodes
// have instead (mig/waiting.h). The scheduler's own Event says "Insufficient nvidia.com/gpu" alone.
//
// Pods that are bound to no node are watched; Nodes are read only while such a Pod asks for GPUs.
// Works over the port cluster::Objects, on two threads of its own. The destructor stops them.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/snapshot/snapshot.h"
#include "cluster/standing_events.h"
#include "cluster/watch_cache.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class MigWaiting : public Worker {
 public:
  struct Options {
    std::string instance;  // the Events' reporting instance: this Pod's name
    // How much longer this process may write. Nothing is begun when the time is over. Empty: for
    // ever.
    std::function<std::chrono::milliseconds()> time_left = {};
    // Between two looks.
    std::chrono::milliseconds look = std::chrono::seconds(10);
    Backoff watch_backoff = {};
    Backoff backoff = {};
  };

  // The references outlive it.
  MigWaiting(cluster::Objects& objects, Options options, const Clock& clock, const Log& log);
  MigWaiting(const MigWaiting&) = delete;
  MigWaiting& operator=(const MigWaiting&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  Result<WorkQueue::Next> visit(const std::stop_token& stop);
  Result<std::vector<cluster::SnapshotPod>> waiting() const;

  cluster::Objects& objects_;
  const Options options_;
  cluster::StandingEvents events_;  // used by the queue's thread only
  cluster::WatchCache pods_;
  WorkQueue queue_;  // last: its thread uses the others
};

// The worker's context sets `options.time_left`.
WorkerPlan plan_mig_waiting(MigWaiting::Options options);

}  // namespace tranche::controller
