#pragma once
// The names that lint compares manifests with: built-in ones, and those of a cluster.

#include <string>

#include "base/dra_driver.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "explain/lint/surroundings.h"

namespace tranche::cli {

// The names that our driver publishes, and NVIDIA's that it does not. `driver`: our driver's name.
// NVIDIA's names are always included: their driver may run next to ours.
lint::Surroundings published_surroundings(std::string driver = std::string(kDefaultDraDriver));

// Reads Nodes, ResourceSlices and DeviceClasses from a cluster or snapshot. Returns what could not
// be compared, for people; empty: nothing. Errors: those of the port.
Result<std::string> ask_cluster(cluster::Objects& objects, lint::Surroundings& around);

}  // namespace tranche::cli
