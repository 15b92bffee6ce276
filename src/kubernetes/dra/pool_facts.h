#pragma once
// The inputs for a pool's devices besides the machine.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cluster/resource_slice.h"
#include "gpu/ids.h"

namespace tranche::dra {

struct PoolFacts {
  bool shares = false;  // parts of a GPU can be allocated and limited here
  // GPUs on which instances may be created for claims.
  std::set<gpu::GpuUuid> partitionable;
  std::map<gpu::PciAddress, std::string> pcie_roots;  // "pci0000:44"
  std::map<gpu::GpuUuid, std::string> islands;        // GPUs linked by NVLink have the same text
  // By UUID of the GPU or of the MIG instance.
  std::map<std::string, std::vector<cluster::DeviceTaint>> taints;
};

}  // namespace tranche::dra
