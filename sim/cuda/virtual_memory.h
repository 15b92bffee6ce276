#pragma once
// Physical memory and addresses apart: cuMemCreate, cuMemAddressReserve, cuMemMap.

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
  unsigned references = 1;  // of handles; mappings keep the block by themselves
};
using PhysicalPtr = std::shared_ptr<Physical>;

// The device of this process that memory of another one lies on; nullptr: it is not shown here, or
// is another machine's.
Device* device_of(Driver& driver, const SharedMemoryLabel& label);

}  // namespace tranche::sim::cuda
