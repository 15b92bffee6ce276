#pragma once
// Multicast objects: memory of several devices that is written at once. Here they hold the memory
// that is bound to them, as long as they are there or until it is unbound, whoever has released its
// handle; they cannot be mapped.

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
  std::set<int> devices;                                 // ordinals of those that were added
  std::map<std::pair<int, std::uint64_t>, Bound> bound;  // by device and offset
};

}  // namespace tranche::sim::cuda
