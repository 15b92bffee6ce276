#pragma once
// Explains to Pods why they wait for GPUs, by an Event with the reason and what to do. Each
// explainer knows one reason (gate_explainer.h, mig_explainer.h). If one fails, the others still
// work.
//
// Pods bound to no node are watched once for all explainers.

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
    std::chrono::milliseconds look = std::chrono::seconds(10);  // time between two visits
  };

  WaitingPods(const WorkerContext& context, Options options);
  WaitingPods(const WaitingPods&) = delete;
  WaitingPods& operator=(const WaitingPods&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  // An explainer, and its Events.
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

// Feature gates and modes are explained where shares are served, MIG where layouts are changed.
std::optional<WorkerPlan> plan_waiting_pods(const config::ControllerOptions& options);

}  // namespace tranche::controller
