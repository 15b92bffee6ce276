#pragma once
// Reads what a cluster's objects tell of its GPUs, once. Over the port cluster::Objects, so also of
// a snapshot.

#include <string>
#include <vector>

#include "base/result.h"
#include "cluster/objects.h"
#include "fleet/facts.h"

namespace tranche::cli {

struct ClusterFacts {
  fleet::Facts facts;
  // What could not be read, one line each. A kind that the cluster does not serve is not among
  // them.
  std::vector<std::string> gaps{};
};

// An error only if the first list fails because the API server cannot be reached, or if none can be
// read.
Result<ClusterFacts> read_cluster(cluster::Objects& objects, const cluster::Call& call);

}  // namespace tranche::cli
