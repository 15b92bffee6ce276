#pragma once
// What a claim's device is on this node. Pure.

#include <string>
#include <vector>

#include "cluster/object.h"
#include "holdings/holdings.h"
#include "kubelet/gpu_names.h"

namespace tranche::agent {

// UUIDs, each once. Empty: it is none that a claim of this node holds.
std::vector<std::string> claimed_gpus(const holdings::Holdings& held,
                                      const cluster::ObjectKey& claim,
                                      const kubelet::AllocatedDevice& device);

}  // namespace tranche::agent
