#pragma once
// Memory pools: device memory that is allocated and freed in stream order.
//
// A pool takes pages from the device and keeps freed ones until a synchronisation; then whatever
// exceeds its release threshold is returned. Memory freed in a stream can be reused at once in the
// same stream, elsewhere once the free has been reached. The driver's lock is held.

#include <limits>
#include <list>
#include <memory>

#include "sim/cuda/abi_memory.h"
#include "sim/cuda/address_space.h"
#include "sim/cuda/heap.h"
#include "sim/cuda/stream.h"

namespace tranche::sim::cuda {

struct Call;
struct Driver;

struct Pool {
  Pool(Device& of, AddressSpace& space)
      : device(of),
        heap(of, space,
             {.own_pages_from = std::numeric_limits<std::uint64_t>::max(), .keeps_pages = true}) {}

  // Freed in a stream that has not reached the free yet.
  struct Pending {
    std::uint64_t stream = 0;  // the stream's id
    std::uint64_t range = 0;   // the range's id
    std::uint64_t address = 0;
    Piece piece;
    OpPtr op;
  };

  // Bytes reserved by it, used or not.
  std::uint64_t held() const { return is_host ? used : heap.held(); }

  std::uint64_t number = 0;
  Device& device;  // for a host pool, the first device
  Heap heap;
  bool is_host = false;  // host memory: what is freed is returned at once
  bool is_default = false;
  bool reuses_after_events = true;  // the three REUSE attributes, as set
  bool reuses_opportunistically = true;
  bool reuses_with_dependencies = true;
  std::uint64_t most_bytes = 0;  // 0: unlimited except by the device
  std::uint64_t release_threshold = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
  std::uint64_t reserved_high = 0;
  std::list<Pending> pending;
};
using PoolPtr = std::shared_ptr<Pool>;

// The pool that cuMemAllocAsync uses, created on first use.
PoolPtr default_pool(Driver& driver, Device& device);
PoolPtr default_host_pool(Driver& driver, const abi::CUmemLocation& location);
// OUT_OF_MEMORY. The address is valid for later work in `stream`.
abi::CUresult allocate_from(Call& call, const PoolPtr& pool, const StreamPtr& stream,
                            std::size_t size, abi::CUdeviceptr& out);
// Frees an allocation of any kind when the stream gets there.
abi::CUresult free_in_order(Call& call, const StreamPtr& stream, abi::CUdeviceptr address);
// Returns a range that is about to be erased to its pool or graph, at once.
void give_to_pool(Range& range);
// Returns what the thresholds allow to the devices; or everything unused.
void release_unused(Driver& driver);
void release_all_unused(Driver& driver);

}  // namespace tranche::sim::cuda
