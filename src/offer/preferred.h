#pragma once
// GetPreferredAllocation: which of the free tranches a container should get. Pure and bounded.
//
// aligned (whole GPUs, unshared, however `policy` is set): NVIDIA's partition rule up to 8 GPUs,
// above that the best-scoring set that contains what is required (a bounded search from about 17
// GPUs on); ties to the lowest index. distributed / packed: replicas and MIG instances, spread over
// or packed onto GPUs, MIG instances by the GPU they lie on. docs/allocation.md has examples.

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

// How the GPUs of the machine are connected. Rows of `topology` are in the order of `gpu_uuids`;
// GPUs that are not among them score 0 with everyone.
struct Links {
  std::vector<std::string> gpu_uuids;
  gpu::Topology topology;
};

struct Preferred {
  std::vector<std::string> ids;
  // For the debug log: "aligned: GPU 0, 1: score 450, the best set in the best split of 8 free GPUs
  // into sets of 2 (total 1800)", "packed: 2 from GPU 3 (1 of 4 were in use)".
  std::string reason;
};

// `links` may be nullptr (not known): then all pairs score alike.
//
// Aligned: the ids by GPU index. Otherwise what must be included, then the picks in their order.
// Ids that the offer does not have are ignored among the available ones; among those that must be
// included they make the request impossible.
// An aligned request that cannot be met gives an empty list, a distributed or packed one the error
// `not enough available devices to satisfy allocation` (kFailedPrecondition), both as NVIDIA's.
Result<Preferred> preferred_allocation(const ResourceOffer& offer, const Links* links,
                                       config::AllocationPolicy policy,
                                       const PreferredRequest& request);

}  // namespace tranche::offer
