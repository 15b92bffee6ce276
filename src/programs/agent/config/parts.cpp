#include "agent/config/parts.h"

#include <filesystem>

#include "agent/config/cluster_node.h"
#include "agent/config/mode_follower.h"

namespace tranche::agent {

Parts config_parts(const AgentContext& context) {
  Parts parts;
  if (!context.options.dra || context.outside.cluster == nullptr) return parts;
  const auto reader = std::make_shared<NodeModeReader>(
      std::filesystem::path(context.options.state_dir) / "mode",
      [&view = context.outside.cluster->node()] { return view.known(); }, context.log);
  parts.inputs.push_back(std::make_unique<NodeModeInput>(reader));
  parts.followers.push_back(std::make_unique<NodeModeFollower>(reader, context.look_again));
  return parts;
}

}  // namespace tranche::agent
