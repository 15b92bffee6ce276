#pragma once
// What an agent has on a cluster and not elsewhere: the API server, its own Node, and what is read
// from and written to them. Wiring: built once, from the flags.

#include <memory>
#include <optional>

#include "agent/change_notifier.h"
#include "agent/cluster_source.h"
#include "agent/finding_reporter.h"
#include "agent/label_sink.h"
#include "agent/limit_overrides.h"
#include "agent/node_reporter.h"
#include "agent/node_view.h"
#include "agent/periodic.h"
#include "agent/status_file.h"
#include "config/agent_options.h"
#include "config/load.h"

namespace tranche::agent {

class ClusterParts {
 public:
  // The references outlive it. Errors: no or broken credentials; no node name.
  static Result<std::unique_ptr<ClusterParts>> open(const config::Sources& sources,
                                                    const config::AgentOptions& options,
                                                    const Clock& clock, const Log& log);

  // Feature labels go there from now on (not kAuto; kFile: to no object). At most once, before
  // labels() is asked for.
  void label(config::LabelOutput output, const config::AgentOptions& options, const Log& log);

  // Where an arbiter runs, as the options say: what it finds is told from now on, and what the
  // operator sets can be followed. At most once.
  void watch_arbiter(const config::AgentOptions& options, const Clock& clock, const Log& log);

  ChangeNotifier& notifier() { return notifier_; }
  // null: the configuration comes from elsewhere.
  ClusterSource* source() { return source_ ? &*source_ : nullptr; }
  // null: to no object.
  LabelSink* labels() { return labels_.get(); }
  void report(const ConfigReport& report) {
    if (reporter_) reporter_->report(report);
  }
  void tell(const NodeNotice& notice) {
    if (reporter_) reporter_->tell(notice);
  }
  // null: nothing is set by anybody.
  LimitOverrides* settings() { return settings_ ? &*settings_ : nullptr; }
  // Who is to be evicted from now on.
  void evict(EvictPolicy policy) {
    if (findings_) findings_->follow(std::move(policy));
  }

 private:
  ClusterParts() = default;

  ChangeNotifier notifier_;
  std::unique_ptr<cluster::Objects> objects_;
  std::optional<NodeView> node_;
  std::optional<ClusterSource> source_;
  std::unique_ptr<LabelSink> labels_;
  std::optional<NodeReporter> reporter_;
  std::optional<PodsOfNode> pods_;
  std::optional<FindingReporter> findings_;
  std::optional<LimitOverrides> settings_;
  std::optional<Periodic> finder_;  // last: its thread uses findings_
};

}  // namespace tranche::agent
