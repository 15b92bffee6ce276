#pragma once
// Keeps the ResourceClaimTemplates of shares as long as somebody refers to them, and no longer.
//
//   - One that a Pod or a workload refers to and that is missing, or was made for another fleet,
//     is made (again). A Pod that waits for one is seen at once, workloads are read at intervals.
//   - One of ours that nobody has referred to for an hour is deleted.
//   - Claims that Kubernetes has made from one, and that wait without what it names now, are made
//     anew (claim_renewer.h).
//
// When a template was used last is kept in memory. In an annotation it would cost a write for each
// Pod that ends; this way a change of the leader keeps an unused template for an hour more, which
// harms nobody.
//
// Works over the port cluster::Objects, on a thread of its own. The destructor stops it.

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "admission/claim_template.h"
#include "controller/claim_renewer.h"
#include "controller/fleet_watch.h"
#include "controller/share_templates.h"
#include "controller/template_uses.h"
#include "controller/work_queue.h"
#include "controller/worker.h"

namespace tranche::controller {

class TemplateCollector : public Worker {
 public:
  struct Options {
    admission::ClaimOptions claim = {};
    std::chrono::milliseconds unused = std::chrono::hours(1);
    // Between two looks at all workloads.
    std::chrono::milliseconds look = std::chrono::minutes(5);
  };

  TemplateCollector(const WorkerContext& context, FleetWatch& fleet, ShareTemplates& templates,
                    Options options);
  ~TemplateCollector() override;
  TemplateCollector(const TemplateCollector&) = delete;
  TemplateCollector& operator=(const TemplateCollector&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  // Of templates, each with the claims that were made from it and wait.
  using Uses = std::map<cluster::ObjectKey, std::set<TemplateUse>>;

  Result<WorkQueue::Next> visit(const std::string& turn, const std::stop_token& stop);
  Uses uses_of_pods() const;
  Result<Uses> uses_of_workloads(const cluster::Call& call) const;
  Result<void> make(const Uses& uses, const cluster::Call& call);
  Result<void> collect(const Uses& uses, const cluster::Call& call);

  const WorkerContext context_;
  FleetWatch& fleet_;
  ShareTemplates& templates_;
  const Options options_;
  // When a template was in use last, or was first seen; of the queue's thread alone.
  std::map<cluster::ObjectKey, std::chrono::steady_clock::time_point> used_;
  ClaimRenewer renewer_;  // of the queue's thread alone
  WorkQueue queue_;
  Watch pods_;  // last: its thread asks the queue
};

std::optional<WorkerPlan> plan_template_collector(const config::ControllerOptions& options);

}  // namespace tranche::controller
