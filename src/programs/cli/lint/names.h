#pragma once
// What lint compares manifests with where no cluster is asked, and what it asks a cluster.

#include <string>

#include "base/dra_driver.h"
#include "base/result.h"
#include "cluster/objects.h"
#include "explain/lint/surroundings.h"

namespace tranche::cli {

// The names that our driver publishes, and those of NVIDIA's that it does not. `driver`: our
// driver's name. NVIDIA's names are known whatever that is: theirs may run beside it.
lint::Surroundings published_surroundings(std::string driver = std::string(kDefaultDraDriver));

// Reads Nodes, ResourceSlices and DeviceClasses of a cluster, or of a snapshot. Returns what could
// not be compared, for people; empty: nothing. Errors: those of the port.
Result<std::string> ask_cluster(cluster::Objects& objects, lint::Surroundings& around);

}  // namespace tranche::cli
