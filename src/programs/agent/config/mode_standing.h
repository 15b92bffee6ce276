#pragma once
// How this node gives out its GPUs, as its label says it.

#include <string>

#include "cluster/formats/node_mode.h"

namespace tranche::agent {

struct NodeModeStanding {
  cluster::NodeMode mode = cluster::NodeMode::kDevicePlugin;
  // At a first start: the Node has not been read yet, and neither wire gives anything out.
  bool undecided = false;
  std::string label_trouble;  // for people: what the Node's label has instead of a mode; or empty
  bool operator==(const NodeModeStanding&) const = default;
};

}  // namespace tranche::agent
