#pragma once
// What `tranche snapshot` reports: what it contains, and what is missing. Pure.

#include <string>
#include <vector>

#include "cluster/snapshot/snapshot.h"

namespace tranche::cli {

// "3 nodes, 12 pods, ...", and the ConfigMaps by name, because these are stored with all their
// data.
std::string contents_of(const cluster::Snapshot& snapshot);

// Whether something is missing that the cluster may have: not for a kind that it does not serve.
bool is_missing(const cluster::Gap& gap);
// "pods could not be read: ...", one line for each missing kind.
std::vector<std::string> missing_lines(const cluster::Snapshot& snapshot);

}  // namespace tranche::cli
