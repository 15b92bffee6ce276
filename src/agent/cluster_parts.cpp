#include "agent/cluster_parts.h"

#include "kube/connect.h"

namespace tranche::agent {
namespace {

constexpr std::chrono::seconds kLookAtFindings{2};
constexpr std::chrono::seconds kLongestLook{5};

}  // namespace

Result<std::unique_ptr<ClusterParts>> ClusterParts::open(const config::Sources& sources,
                                                         const config::AgentOptions& options,
                                                         const Clock& clock, const Log& log) {
  if (options.node_name.empty()) {
    return fail(Code::kInvalidArgument, "the node's name is not known",
                "set NODE_NAME by the downward API (fieldRef spec.nodeName)");
  }
  std::unique_ptr<ClusterParts> parts(new ClusterParts());
  ASSIGN_OR_RETURN(parts->objects_,
                   kube::connect(options.api_server, sources.environment, "tranche-agent", log));
  auto& objects = *parts->objects_;
  if (options.node_config) {
    parts->node_.emplace(objects, options.node_name, parts->notifier_, log);
    parts->source_.emplace(sources,
                           ClusterSource::Options{.choice = *options.node_config,
                                                  .folder = options.config_file,
                                                  .state_dir = options.state_dir},
                           objects, *parts->node_, parts->notifier_, clock, log);
    parts->reporter_.emplace(objects, *parts->node_, clock, log);
  }
  return parts;
}

void ClusterParts::watch_arbiter(const config::AgentOptions& options, const Clock& clock,
                                 const Log& log) {
  if (options.arbiter_state_dir.empty()) return;
  if (!node_) node_.emplace(*objects_, options.node_name, notifier_, log);
  pods_.emplace(*objects_, options.node_name, log);
  settings_.emplace(*objects_, *node_, *pods_, clock, log);
  findings_.emplace(*objects_, *node_, *pods_,
                    FindingReporter::Options{.arbiter_dir = options.arbiter_state_dir,
                                             .asks = options.ask_evictions},
                    clock, log);
  finder_.emplace(kLookAtFindings, [this] { findings_->look({.deadline = kLongestLook}); });
}

void ClusterParts::label(config::LabelOutput output, const config::AgentOptions& options,
                         const Log& log) {
  if (output == config::LabelOutput::kNode) {
    if (!node_) node_.emplace(*objects_, options.node_name, notifier_, log);
    labels_ = std::make_unique<NodeLabels>(*objects_, *node_, log);
  } else if (output == config::LabelOutput::kNodeFeature) {
    labels_ = std::make_unique<NodeFeatureLabels>(
        *objects_,
        NodeFeatureWriter::Options{.ns = options.kube_namespace,
                                   .node_name = options.node_name,
                                   .pod_name = options.pod_name},
        notifier_, log);
  }
}

}  // namespace tranche::agent
