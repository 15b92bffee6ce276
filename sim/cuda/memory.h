#pragma once
// Shared parts of the memory functions.

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/streams.h"

namespace tranche::sim::cuda {

// The device of a memory location; -1: none. For a locality domain the first byte names it.
inline int ordinal_of(const abi::CUmemLocation& location) {
  if (location.type == abi::CU_MEM_LOCATION_TYPE_DEVICE) return location.id;
  const bool is_part = location.type == abi::CU_MEM_LOCATION_TYPE_DEVICE_LOCALITY_DOMAIN;
  return is_part ? location.id & 0xFF : -1;
}
// `size` bytes of the current context's device. OUT_OF_MEMORY.
CUresult allocate(Call& call, Context& context, std::size_t size, RangeKind kind, CUdeviceptr& out);
// Any address returned by any allocation function; waits until its context is idle.
CUresult free_address(Call& call, CUdeviceptr address);
// A device accesses managed memory, which becomes resident there as far as there is room.
void make_resident(Call& call, Device& device, Range& range, std::uint64_t bytes);
void give_back_residence(Call& call, Range& range);
// Host memory owned by the library: whole pages, zeroed.
// The 32-bit word at a device address. nullptr: it does not exist, or is not aligned.
std::uint32_t* word_at(Driver& driver, CUdeviceptr address);
std::shared_ptr<void> map_host(std::size_t size);

}  // namespace tranche::sim::cuda
