#pragma once
// distributed and packed: which replicas or MIG instances to take by how full their GPUs are.
// Private to offer/.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "offer/offer.h"

namespace tranche::offer {

struct Spread {
  std::vector<std::size_t> tranches;  // in the order of picking
  std::string reason;
};

// Picks `count` of `candidates` (indices into offer.tranches, rising; at least `count`), one after
// the other: from the GPU with the fewest (distributed) or most (packed) tranches in use; among
// equals the GPU picked least so far in this call, then the fewest or most in use on the MIG
// instance, then the lowest index. Every tranche of the offer that is no candidate counts as in
// use.
Spread spread(const ResourceOffer& offer, config::AllocationPolicy policy,
              std::span<const std::size_t> candidates, std::size_t count);

}  // namespace tranche::offer
