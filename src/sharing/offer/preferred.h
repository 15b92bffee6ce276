#pragma once
// GetPreferredAllocation: chooses the free tranches that a container should get. Pure and bounded.
//
// aligned (for unshared whole GPUs, whatever `policy` says): NVIDIA's partition rule up to 8 GPUs;
// above that the best-scoring set that contains the required GPUs. From about 17 GPUs on the
// search is bounded. Ties go to the lowest index. distributed / packed: replicas and MIG
// instances, spread over GPUs or packed onto few. A MIG instance counts for its GPU.
// docs/allocation.md has examples.

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "gpu/machine.h"
#include "offer/offer.h"

namespace tranche::offer {

struct PreferredRequest {
  std::vector<std::string> available;
  std::vector<std::string> must_include;
  int size = 0;
};

// How the GPUs of the machine are connected. Rows of `topology` are in the order of `gpu_uuids`.
// GPUs that are not in `gpu_uuids` score 0 with every other GPU.
struct Links {
  std::vector<std::string> gpu_uuids;
  gpu::Topology topology;
  bool operator==(const Links&) const = default;
};

struct Preferred {
  std::vector<std::string> ids;
  // For the debug log: "aligned: GPU 0, 1: score 450, the best set in the best split of 8 free GPUs
  // into sets of 2 (total 1800)", "packed: 2 from GPU 3 (1 of 4 were in use)".
  std::string reason;
};

// `links` may be nullptr (unknown): then all pairs score alike.
//
// Aligned: returns the ids by GPU index. Otherwise returns the required ids first, then the picks
// in their order. Unknown ids among the available ones are ignored. Unknown ids among the required
// ones make the request impossible. An aligned request that cannot be met gives an empty list. A
// distributed or packed one gives the error `not enough available devices to satisfy allocation`
// (kFailedPrecondition). Both are NVIDIA's behaviour.
Result<Preferred> preferred_allocation(const ResourceOffer& offer, const Links* links,
                                       config::AllocationPolicy policy,
                                       const PreferredRequest& request);

}  // namespace tranche::offer
