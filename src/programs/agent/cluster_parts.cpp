#include "agent/cluster_parts.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kLookAtFindings{2};
constexpr std::chrono::seconds kLongestLook{5};

}  // namespace

Result<std::unique_ptr<ClusterParts>> ClusterParts::open(const config::Sources& sources,
                                                         const config::AgentOptions& options,
                                                         const Clock& clock, const Log& log) {
  ASSIGN_OR_RETURN(auto node, ClusterNode::open(sources, options, clock, log));
  return std::unique_ptr<ClusterParts>(new ClusterParts(std::move(node)));
}

void ClusterParts::watch_arbiter(const config::AgentOptions& options, Book& book,
                                 const Clock& clock, const Log& log) {
  if (options.arbiter_state_dir.empty()) {
    return node_->withdraw(cluster::condition::kTrancheArbiterRuns);
  }
  auto& objects = node_->objects();
  pods_.emplace(objects, options.node_name, log);
  overrides_.emplace(objects, node_->node(), *pods_, book, clock, log);
  findings_.emplace(objects, node_->node(), *pods_,
                    FindingReporter::Options{.arbiter_dir = options.arbiter_state_dir,
                                             .asks = options.ask_evictions},
                    clock, log);
  arbiter_.emplace(
      options.arbiter_state_dir, [this](const ConditionReport& report) { node_->report(report); },
      clock, log);
  finder_.emplace(kLookAtFindings, [this] {
    arbiter_->look();
    findings_->look({.deadline = kLongestLook});
  });
}

void ClusterParts::label(config::LabelOutput output, const config::AgentOptions& options,
                         const Log& log) {
  if (output == config::LabelOutput::kNode) {
    labels_ = std::make_unique<NodeLabels>(node_->objects(), node_->node(), log);
  } else if (output == config::LabelOutput::kNodeFeature) {
    labels_ = std::make_unique<NodeFeatureLabels>(
        node_->objects(),
        NodeFeatureWriter::Options{.ns = options.kube_namespace,
                                   .node_name = options.node_name,
                                   .pod_name = options.pod_name},
        node_->notifier(), log);
  }
}

}  // namespace tranche::agent
