#pragma once
// Tells Pods that wait because a feature gate is off at the scheduler that is on at the API server:
// an Event of the Pod says which, and what to do. The API server keeps the amounts that the Pod's
// claim asks, and the scheduler refuses them (docs/dra.md). Agents see what the API server drops,
// and nothing of this.
//
// Nothing is guessed: the scheduler names the gate in the Pod's condition PodScheduled. Pods that
// are bound to no node are watched. Works over the port cluster::Objects, on two threads of its
// own. The destructor stops them.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "cluster/objects.h"
#include "cluster/standing_events.h"
#include "cluster/watch_cache.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

// The gate that the scheduler says is off, in the condition PodScheduled of the Pod; "": none.
// Source: Kubernetes' dynamic-resource-allocation/structured, "claim NAME, request NAME: has
// capacity requests, but the DRAConsumableCapacity feature is disabled".
std::string gate_off_at_scheduler(json::View pod);

class GateNotice : public Worker {
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
  GateNotice(cluster::Objects& objects, Options options, const Clock& clock, const Log& log);
  GateNotice(const GateNotice&) = delete;
  GateNotice& operator=(const GateNotice&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  Result<WorkQueue::Next> visit(const std::stop_token& stop);

  const Options options_;
  cluster::StandingEvents events_;  // used by the queue's thread only
  cluster::WatchCache pods_;
  WorkQueue queue_;  // last: its thread uses the others
};

// The worker's context sets `options.time_left`.
WorkerPlan plan_gate_notice(GateNotice::Options options);

}  // namespace tranche::controller
