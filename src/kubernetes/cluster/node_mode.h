#pragma once
// The mode of a node: by which wire its GPUs are given out. A label of the Node says it, and its
// agent obeys. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/node.h"

namespace tranche::cluster {

inline constexpr const char* kModeLabel = "tranche.dev/mode";

enum class NodeMode {
  kDevicePlugin,  // resources that kubelet counts; a node without the label
  kDra,           // devices in ResourceSlices, which claims get
};

std::string_view name_of(NodeMode mode);  // "device-plugin", "dra"
std::optional<NodeMode> parse_node_mode(std::string_view text);

// kInvalidArgument: the label has another value.
Result<NodeMode> mode_of(const Node& node);

}  // namespace tranche::cluster
