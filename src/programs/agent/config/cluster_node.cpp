#include "agent/config/cluster_node.h"

#include "kube/connect.h"

namespace tranche::agent {

Result<std::unique_ptr<ClusterNode>> ClusterNode::open(const config::Sources& sources,
                                                       const config::AgentOptions& options,
                                                       const Clock& clock, const Log& log) {
  if (options.node_name.empty()) {
    return fail(Code::kInvalidArgument, "the node's name is not known",
                "set NODE_NAME by the downward API (fieldRef spec.nodeName)");
  }
  ASSIGN_OR_RETURN(auto objects,
                   kube::connect(options.api_server, sources.environment, "tranche-agent", log));
  std::unique_ptr<ClusterNode> node(new ClusterNode(std::move(objects), options.node_name, log));
  if (options.node_config) {
    node->source_.emplace(sources,
                          ClusterSource::Options{.choice = *options.node_config,
                                                 .folder = options.config_file,
                                                 .state_dir = options.state_dir},
                          node->objects(), node->node(), node->notifier_, clock, log);
  }
  const bool writes_node = options.label_output == config::LabelOutput::kNode;
  if (options.node_config || options.mig_manager || options.dra || options.gpu_node ||
      options.metrics || writes_node) {
    node->reporter_.emplace(node->objects(), node->node(), clock, log);
  }
  return node;
}

NodeView& ClusterNode::node() {
  if (!node_) node_.emplace(*objects_, name_, notifier_, log_);
  return *node_;
}

}  // namespace tranche::agent
