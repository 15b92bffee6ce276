#include "cluster/formats/node_mode.h"

#include <fmt/format.h>

namespace tranche::cluster {

std::string_view name_of(NodeMode mode) { return mode == NodeMode::kDra ? "dra" : "device-plugin"; }

std::optional<NodeMode> parse_node_mode(std::string_view text) {
  for (const auto mode : {NodeMode::kDevicePlugin, NodeMode::kDra}) {
    if (text == name_of(mode)) return mode;
  }
  return std::nullopt;
}

Result<NodeMode> mode_of(const Node& node) {
  const auto label = node.labels.find(kModeLabel);
  if (label == node.labels.end()) return NodeMode::kDevicePlugin;
  if (const auto mode = parse_node_mode(label->second)) return *mode;
  return fail(Code::kInvalidArgument,
              fmt::format("the Node's label {} is '{}'", kModeLabel, label->second),
              fmt::format("write {} or {}, or remove the label", name_of(NodeMode::kDevicePlugin),
                          name_of(NodeMode::kDra)));
}

}  // namespace tranche::cluster
