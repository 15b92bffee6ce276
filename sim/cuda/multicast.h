#pragma once
// Multicast objects: memory of several devices that is written at once. Here they hold their
// bound memory, until they end or it is unbound, even if its handle was released; they cannot be
// mapped.

#include <map>
#include <memory>
#include <set>
#include <utility>

#include "sim/cuda/block.h"

namespace tranche::sim::cuda {

struct Multicast {
  struct Bound {
    std::uint64_t size;
    std::shared_ptr<Block> block;
  };
  unsigned device_count = 0;
  std::uint64_t size = 0;
  std::set<int> devices;                                 // ordinals of the added ones
  std::map<std::pair<int, std::uint64_t>, Bound> bound;  // by device and offset
};

}  // namespace tranche::sim::cuda
