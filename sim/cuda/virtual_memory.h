#pragma once
// Separate physical memory and addresses: cuMemCreate, cuMemAddressReserve, cuMemMap.

#include <memory>

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/block.h"

namespace tranche::sim::cuda {

struct Driver;
struct Multicast;

struct Physical {
  std::uint64_t number = 0;
  std::shared_ptr<Block> block;  // null: it is a multicast object
  std::shared_ptr<Multicast> multicast;
  abi::CUmemAllocationProp properties = {};
  unsigned references = 1;  // number of handles; mappings hold the block themselves
};
using PhysicalPtr = std::shared_ptr<Physical>;

// The device of this process that holds another process's memory; nullptr: it is not visible here,
// or belongs to another machine.
Device* device_of(Driver& driver, const SharedMemoryLabel& label);

}  // namespace tranche::sim::cuda
