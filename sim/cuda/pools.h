#pragma once
// Memory pools: device memory that is allocated and freed in stream order.
//
// A pool takes pages from the device and keeps what is freed until somebody synchronizes; then what
// exceeds its release threshold goes back. Memory freed in a stream can be had again at once in the
// same stream, elsewhere when the free was reached. The driver's lock is held.

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

  // Freed in a stream that has not got there yet.
  struct Pending {
    std::uint64_t stream = 0;  // its id
    std::uint64_t range = 0;   // id
    std::uint64_t address = 0;
    Piece piece;
    OpPtr op;
  };

  // Bytes that are its own, whoever uses them.
  std::uint64_t held() const { return is_host ? used : heap.held(); }

  std::uint64_t number = 0;
  Device& device;  // of a host's pool the first one
  Heap heap;
  bool is_host = false;  // memory of the host: what is freed is given back at once
  bool is_default = false;
  bool reuses_after_events = true;  // the three REUSE attributes, as they are told
  bool reuses_opportunistically = true;
  bool reuses_with_dependencies = true;
  std::uint64_t most_bytes = 0;  // 0: the device's
  std::uint64_t release_threshold = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
  std::uint64_t reserved_high = 0;
  std::list<Pending> pending;
};
using PoolPtr = std::shared_ptr<Pool>;

// The pool that cuMemAllocAsync draws on, made when it is first asked for.
PoolPtr default_pool(Driver& driver, Device& device);
PoolPtr default_host_pool(Driver& driver, const abi::CUmemLocation& location);
// OUT_OF_MEMORY. The address is good for what comes later in `stream`.
abi::CUresult allocate_from(Call& call, const PoolPtr& pool, const StreamPtr& stream,
                            std::size_t size, abi::CUdeviceptr& out);
// Frees an allocation of any kind when the stream gets there.
abi::CUresult free_in_order(Call& call, const StreamPtr& stream, abi::CUdeviceptr address);
// At once, for a range that is about to be erased: to its pool, or its graph.
void give_to_pool(Range& range);
// What the thresholds allow goes back to the devices; or all that nobody uses.
void release_unused(Driver& driver);
void release_all_unused(Driver& driver);

}  // namespace tranche::sim::cuda
