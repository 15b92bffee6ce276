#pragma once
// The mode of a node: how its GPUs are allocated. A label of the Node sets it, and its agent
// follows it. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/node.h"

namespace tranche::cluster {

inline constexpr const char* kModeLabel = "tranche.dev/mode";

enum class NodeMode {
  kDevicePlugin,  // resources that kubelet counts; for a node without the label
  kDra,           // devices in ResourceSlices, allocated to claims
};

std::string_view name_of(NodeMode mode);  // "device-plugin", "dra"
std::optional<NodeMode> parse_node_mode(std::string_view text);

// kInvalidArgument: the label has another value.
Result<NodeMode> mode_of(const Node& node);

}  // namespace tranche::cluster
