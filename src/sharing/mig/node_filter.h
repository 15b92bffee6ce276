#pragma once
// Which nodes take a Pod, but for what is free there and for cordons: by taints that keep it away,
// its node selector and its required node affinity. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include "cluster/node.h"
#include "cluster/node_affinity.h"
#include "cluster/snapshot/snapshot.h"

namespace tranche::mig {

class NodeFilter {
 public:
  // `pod` outlives it. An affinity that cannot be read keeps it from no node.
  explicit NodeFilter(const cluster::SnapshotPod& pod);

  bool takes(const cluster::Node& node) const;

 private:
  const cluster::SnapshotPod& pod_;
  std::optional<cluster::NodeSelector> required_;
};

// By its condition.
bool is_ready(const cluster::Node& node);

// 0: the node offers none of it.
std::int64_t allocatable(const cluster::Node& node, const std::string& resource);

}  // namespace tranche::mig
