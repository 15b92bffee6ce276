#pragma once
// Limits the length of a status. Pure.

#include <cstddef>

#include "cluster/formats/gpu_node.h"

namespace tranche::agent {

// The status in at most `most` bytes of JSON. Entries are left out from the end of the lists, list
// after list, no more than necessary: first holdings, then links, the devices of resources, what is
// withheld, reasons, MIG instances (of a GPU all or none), GPUs, resources. `truncated` says how
// many are missing. The summary stays as it is.
cluster::GpuNodeStatus fit(cluster::GpuNodeStatus status,
                           std::size_t most = cluster::kLongestGpuNodeStatus);

}  // namespace tranche::agent
