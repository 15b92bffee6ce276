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
  std::vector<std::size_t> tranches;  // in picking order
  std::string reason;
};

// Picks `count` of `candidates`, one after the other. `candidates` are at least `count` ascending
// indices into offer.tranches. Each pick comes from the GPU with the fewest (distributed) or most
// (packed) tranches in use. Among equals it comes from the GPU picked least so far in this call;
// then from the MIG instance with the fewest or most in use; then the lowest index. Every tranche
// of the offer that is not a candidate counts as in use, and so do tranches held beyond the offer.
// A device with as many tranches held as it has is picked last.
Spread spread(const ResourceOffer& offer, config::AllocationPolicy policy,
              std::span<const std::size_t> candidates, std::size_t count);

}  // namespace tranche::offer
