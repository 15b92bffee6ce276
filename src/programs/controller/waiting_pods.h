#pragma once
// Tells Pods that wait for GPUs why, where that can be seen: an Event of the Pod says the reason
// and what to do. Each explainer knows one reason (gate_explainer.h, mig_explainer.h). One that
// fails keeps no other from its Pods.
//
// Pods that are bound to no node are watched, once for all explainers. Works over the port
// cluster::Objects, on a thread of its own and that of the watch. The destructor stops it.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cluster/client/standing_events.h"
#include "controller/explainer.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class WaitingPods : public Worker {
 public:
  struct Options {
    std::vector<Explainer> explainers;
    std::chrono::milliseconds look = std::chrono::seconds(10);  // time between two looks
  };

  WaitingPods(const WorkerContext& context, Options options);
  WaitingPods(const WaitingPods&) = delete;
  WaitingPods& operator=(const WaitingPods&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  // An explainer, and what it has told.
  struct Topic {
    Explainer explainer;
    cluster::StandingEvents events;
  };

  Result<WorkQueue::Next> visit(Topic& topic, const std::stop_token& stop);

  const WorkerContext context_;
  const std::chrono::milliseconds look_;
  std::map<std::string, Topic> topics_;  // used by the queue's thread only
  Watch pods_;
  WorkQueue queue_;  // of topics; last: its thread uses the others
};

// Feature gates are explained where shares are claimed, MIG where its layouts are changed.
std::optional<WorkerPlan> plan_waiting_pods(const config::ControllerOptions& options);

}  // namespace tranche::controller
