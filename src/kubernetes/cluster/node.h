#pragma once
// A Node (v1): the fields that this system reads.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cluster/metadata.h"

namespace tranche::cluster {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // "NoSchedule", ...
  bool operator==(const Taint&) const = default;
};

struct NodeCondition {
  std::string type;    // "Ready"
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
  bool operator==(const NodeCondition&) const = default;
};

struct Node {
  std::string name;
  std::string uid;
  std::string resource_version;
  StringMap labels;
  StringMap annotations;
  std::vector<Taint> taints;
  bool unschedulable = false;  // cordoned
  // Resource name -> quantity as written ("8", "32Gi"): base/quantity.h parses it.
  StringMap capacity;
  StringMap allocatable;
  std::vector<NodeCondition> conditions;

  bool operator==(const Node&) const = default;
};

// kInvalidArgument, with the path of the field, if it is not a Node.
Result<Node> parse_node(std::string_view json);

}  // namespace tranche::cluster
