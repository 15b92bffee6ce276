#pragma once
// How this node gives out its GPUs, according to its label.

#include <string>

#include "cluster/formats/node_mode.h"

namespace tranche::agent {

struct NodeModeStanding {
  cluster::NodeMode mode = cluster::NodeMode::kDevicePlugin;
  // At a first start: the Node has not been read yet, and neither wire gives anything out.
  bool undecided = false;
  std::string label_trouble;  // for people: the label's value if it is no mode, or empty
  bool operator==(const NodeModeStanding&) const = default;
};

}  // namespace tranche::agent
