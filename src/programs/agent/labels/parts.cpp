#include "agent/labels/parts.h"

#include "agent/config/cluster_node.h"
#include "agent/labels/label_follower.h"

namespace tranche::agent {
namespace {

// null: they go to the file.
std::unique_ptr<LabelSink> make_sink(const AgentContext& context) {
  auto* const cluster = context.outside.cluster;
  if (cluster == nullptr) return nullptr;
  if (context.outside.label_output == config::LabelOutput::kNode) {
    return std::make_unique<NodeLabels>(cluster->objects(), cluster->node(), context.log);
  }
  if (context.outside.label_output != config::LabelOutput::kNodeFeature) return nullptr;
  return std::make_unique<NodeFeatureLabels>(
      cluster->objects(),
      NodeFeatureWriter::Options{.ns = context.options.kube_namespace,
                                 .node_name = context.options.node_name,
                                 .pod_name = context.options.pod_name},
      cluster->notifier(), context.log);
}

}  // namespace

Parts labels_parts(const AgentContext& context) {
  Parts parts;
  parts.followers.push_back(std::make_unique<LabelFollower>(
      context.options.labels, make_sink(context), context.clock, context.log));
  return parts;
}

}  // namespace tranche::agent
