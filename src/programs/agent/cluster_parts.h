#pragma once
// The parts that an agent has only on a cluster, beside its Node: the object for feature labels,
// reports of the arbiter's findings, and limits set for running containers. Wiring: built once,
// from the flags.

#include <memory>
#include <optional>

#include "agent/config/cluster_node.h"
#include "agent/labels/label_sink.h"
#include "agent/limits/arbiter_watch.h"
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

  // Sends feature labels to `output` from now on (not kAuto; kFile: to no object). Called at most
  // once, before labels().
  void label(config::LabelOutput output, const config::AgentOptions& options, const Log& log);

  // If the options say that an arbiter runs here, reports its findings and its end from now on, and
  // follows the limits that the operator sets. Called at most once.
  void watch_arbiter(const config::AgentOptions& options, Book& book, const Clock& clock,
                     const Log& log);

  ClusterNode& node() { return *node_; }
  // null: labels go to no object.
  LabelSink* labels() { return labels_.get(); }
  // null: limits are never overridden.
  LimitOverrides* overrides() { return overrides_ ? &*overrides_ : nullptr; }
  // null: the Pods of this node may not be read.
  PodsOfNode* pods() { return pods_ ? &*pods_ : nullptr; }
  // Sets which Pods are to be evicted from now on.
  void evict(EvictPolicy policy) {
    if (findings_) findings_->follow(std::move(policy));
  }

 private:
  explicit ClusterParts(std::unique_ptr<ClusterNode> node) : node_(std::move(node)) {}

  std::unique_ptr<ClusterNode> node_;
  std::unique_ptr<LabelSink> labels_;
  std::optional<PodsOfNode> pods_;
  std::optional<FindingReporter> findings_;
  std::optional<ArbiterWatch> arbiter_;
  std::optional<LimitOverrides> overrides_;
  std::optional<process::Periodic> finder_;  // last: its thread uses findings_ and arbiter_
};

}  // namespace tranche::agent
