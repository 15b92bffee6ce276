#pragma once
// What `tranche snapshot` tells of what it took: what is in it, and what is missing. Pure.

#include <string>
#include <vector>

#include "cluster/snapshot/snapshot.h"

namespace tranche::cli {

// "3 nodes, 12 pods, ...", and which ConfigMaps, since these are kept with all that is in them.
std::string contents_of(const cluster::Snapshot& snapshot);

// Whether something is missing that the cluster may have. A kind that it does not serve is not.
bool is_missing(const cluster::Gap& gap);
// "pods could not be read: ...", one line for each that is missing.
std::vector<std::string> missing_lines(const cluster::Snapshot& snapshot);

}  // namespace tranche::cli
