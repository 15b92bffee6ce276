#pragma once
// Keeps the ResourceClaimTemplates of shares exactly as long as somebody refers to them.
//
//   - A template that a Pod or a workload refers to and that is missing, or was made for another
//     fleet, is created (again). Waiting Pods are seen at once, workloads are read at intervals.
//   - Our template that nobody has referred to for an hour is deleted.
//   - Waiting claims without what their template now names are replaced (claim_renewer.h).
//
// The time of last use is kept in memory: an annotation would cost a write for each Pod that ends.
// So a change of leader only keeps an unused template an hour longer.

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
    // Time between two reads of all workloads.
    std::chrono::milliseconds look = std::chrono::minutes(5);
  };

  TemplateCollector(const WorkerContext& context, FleetWatch& fleet, ShareTemplates& templates,
                    Options options);
  ~TemplateCollector() override;
  TemplateCollector(const TemplateCollector&) = delete;
  TemplateCollector& operator=(const TemplateCollector&) = delete;

  std::optional<std::string> trouble() const override;

 private:
  // By template: its uses, with the waiting claims made from it.
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
  // When a template was last used, or first seen; used by the queue's thread only.
  std::map<cluster::ObjectKey, std::chrono::steady_clock::time_point> used_;
  ClaimRenewer renewer_;  // used by the queue's thread only
  WorkQueue queue_;
  Watch pods_;  // last: its thread uses the queue
};

std::optional<WorkerPlan> plan_template_collector(const config::ControllerOptions& options);

}  // namespace tranche::controller
