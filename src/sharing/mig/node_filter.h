#pragma once
// Determines which nodes accept a Pod, by their taints, its node selector and its required node
// affinity; not by free resources and cordons. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/node.h"
#include "cluster/node_affinity.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::mig {

class NodeFilter {
 public:
  // `pod` must outlive it. An unreadable affinity excludes no node.
  explicit NodeFilter(const cluster::SnapshotPod& pod);

  bool takes(const cluster::Node& node) const;

 private:
  const cluster::SnapshotPod& pod_;
  std::optional<cluster::NodeSelector> required_;
};

// By its condition.
bool is_ready(const cluster::Node& node);

// 0: the node offers none.
std::int64_t allocatable(const cluster::Node& node, const std::string& resource);

}  // namespace tranche::mig
