#pragma once
// distributed and packed: chooses replicas or MIG instances by how full their GPUs are. Private to
// offer/.

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

// Picks `count` of `candidates`, one after the other. `candidates` are indices into offer.tranches,
// rising, at least `count` of them. Each pick comes from the GPU with the fewest (distributed) or
// most (packed) tranches in use. Among equals it comes from the GPU picked least so far in this
// call; then from the MIG instance with the fewest or most in use; then the lowest index. Every
// tranche of the offer that is no candidate counts as in use, and so does what is held beyond the
// offer. A device on which as many are held as it has tranches is picked last.
Spread spread(const ResourceOffer& offer, config::AllocationPolicy policy,
              std::span<const std::size_t> candidates, std::size_t count);

}  // namespace tranche::offer
