#pragma once
// What an agent has on a cluster and not elsewhere, beside its Node: where feature labels go, what
// the arbiter finds, what is set for containers that run. Wiring: built once, from the flags.

#include <memory>
#include <optional>

#include "agent/config/cluster_node.h"
#include "agent/labels/label_sink.h"
#include "agent/limits/finding_reporter.h"
#include "agent/limits/limit_overrides.h"
#include "config/flags/sources.h"
#include "config/programs/agent_options.h"
#include "process/periodic.h"

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

  ClusterNode& node() { return *node_; }
  // null: to no object.
  LabelSink* labels() { return labels_.get(); }
  // null: nothing is set by anybody.
  LimitOverrides* overrides() { return overrides_ ? &*overrides_ : nullptr; }
  // Who is to be evicted from now on.
  void evict(EvictPolicy policy) {
    if (findings_) findings_->follow(std::move(policy));
  }

 private:
  explicit ClusterParts(std::unique_ptr<ClusterNode> node) : node_(std::move(node)) {}

  std::unique_ptr<ClusterNode> node_;
  std::unique_ptr<LabelSink> labels_;
  std::optional<PodsOfNode> pods_;
  std::optional<FindingReporter> findings_;
  std::optional<LimitOverrides> overrides_;
  std::optional<process::Periodic> finder_;  // last: its thread uses findings_
};

}  // namespace tranche::agent
