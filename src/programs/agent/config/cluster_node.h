#pragma once
// This node as an object of a cluster: the API server, the Node kept up to date, and the
// configuration chosen by its label, whose outcome is reported in the Node's condition and by
// Events. For the agent and the supervisor of MPS. Built once, from the flags.

#include <memory>
#include <optional>

#include "agent/config/cluster_source.h"
#include "agent/node/node_reporter.h"
#include "agent/node/node_view.h"
#include "cluster/objects.h"
#include "config/flags/sources.h"
#include "config/programs/agent_options.h"
#include "process/change_notifier.h"

namespace tranche::agent {

class ClusterNode {
 public:
  // Errors: no or broken credentials; no node name.
  static Result<std::unique_ptr<ClusterNode>> open(const config::Sources& sources,
                                                   const config::AgentOptions& options,
                                                   const Clock& clock, const Log& log);

  // Notified when the configuration or the Node may have changed.
  process::ChangeNotifier& notifier() { return notifier_; }
  cluster::Objects& objects() { return *objects_; }
  // Watched from the first call on.
  NodeView& node();
  // null: the configuration comes from elsewhere, and nothing is reported to the cluster.
  ClusterSource* source() { return source_ ? &*source_ : nullptr; }
  // Whether anything is reported to the cluster.
  bool tells() const { return reporter_.has_value(); }
  void report(const ConditionReport& report) {
    if (reporter_) reporter_->report(report);
  }
  void withdraw(const std::string& condition) {
    if (reporter_) reporter_->withdraw(condition);
  }
  void tell(const NodeNotice& notice) {
    if (reporter_) reporter_->tell(notice);
  }

 private:
  ClusterNode(std::unique_ptr<cluster::Objects> objects, std::string name, const Log& log)
      : objects_(std::move(objects)), name_(std::move(name)), log_(log) {}

  process::ChangeNotifier notifier_;
  std::unique_ptr<cluster::Objects> objects_;
  std::string name_;
  const Log& log_;
  std::optional<NodeView> node_;
  std::optional<ClusterSource> source_;
  std::optional<NodeReporter> reporter_;
};

}  // namespace tranche::agent
