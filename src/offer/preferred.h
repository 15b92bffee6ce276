#pragma once
// GetPreferredAllocation: which of the free tranches a container should get. Pure and bounded.
//
// aligned (whole GPUs, unshared): NVIDIA's partition rule up to 8 GPUs, above that the best-scoring
// set that contains what is required; ties to the lowest index. distributed / packed: replicas and
// MIG instances, spread over or packed onto GPUs (for MIG: by the GPU they lie on).

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

// `topology` may be nullptr (unknown): then all pairs score alike. Its rows are in the order of
// `gpu_uuids`.
struct Links {
  std::vector<std::string> gpu_uuids;
  gpu::Topology topology;
};

struct Preferred {
  std::vector<std::string> ids;
  std::string reason;  // "aligned: ..." for the debug log
};

// An aligned request that cannot be met gives an empty list, a distributed or packed one the error
// `not enough available devices to satisfy allocation`, both as NVIDIA's.
Result<Preferred> preferred_allocation(const ResourceOffer& offer, const Links* links,
                                       config::AllocationPolicy policy,
                                       const PreferredRequest& request);

}  // namespace tranche::offer
