#pragma once
// The process's device addresses: which are taken, and what memory is behind each.
//
// Device addresses come from one large reservation that nothing on the host may touch, so that a
// program that dereferences a device pointer crashes as on hardware. Ranges are looked up here;
// copies go to the bytes (Block). Managed and page-locked host memory is ordinary memory, with the
// same address on both sides. The driver's lock is held.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "sim/cuda/arena.h"
#include "sim/cuda/block.h"

namespace tranche::sim::cuda {

struct Context;
struct GraphMemory;
struct Physical;
struct Pool;

enum class RangeKind {
  kAllocated,   // cuMemAlloc and similar, from the context's heap
  kPooled,      // cuMemAllocAsync, from a pool's heap
  kGlobal,      // a variable of a module
  kMapped,      // cuMemMap
  kImported,    // another process's allocation (cuIpcOpenMemHandle)
  kExternal,    // of imported external memory
  kGraph,       // of a graph's allocation node
  kManaged,     // cuMemAllocManaged
  kHost,        // cuMemHostAlloc
  kRegistered,  // cuMemHostRegister
};

struct Range {
  std::uint64_t base = 0;
  std::uint64_t size = 0;  // as requested
  RangeKind kind = RangeKind::kAllocated;
  Device* device = nullptr;
  std::weak_ptr<Context> context;             // its owner; kMapped: none
  Piece piece;                                // device memory
  std::byte* host = nullptr;                  // host memory
  std::shared_ptr<void> owned;                // keeps it alive, if the library created it
  std::shared_ptr<Pool> pool;                 // kPooled
  std::shared_ptr<GraphMemory> graph_memory;  // kGraph
  std::shared_ptr<Physical> physical;         // kMapped
  unsigned flags = 0;                         // of the call that created it
  unsigned access = 3;                        // CU_MEM_ACCESS_FLAGS_PROT_*
  std::uint64_t id = 0;
  bool is_freed = false;  // in some stream, in the future
  // kManaged:
  std::uint64_t resident = 0;  // bytes resident on the device, unless evicted by others

  bool is_host() const { return kind == RangeKind::kHost || kind == RangeKind::kRegistered; }
  std::byte* bytes() const { return host != nullptr ? host : piece.bytes(); }
};

class AddressSpace {
 public:
  static Result<std::unique_ptr<AddressSpace>> make();
  explicit AddressSpace(Arena addresses) : addresses_(std::move(addresses)) {}

  // Addresses without memory. At `wanted` if that is free. nullopt: none left.
  std::optional<std::uint64_t> reserve(std::uint64_t size, std::uint64_t alignment,
                                       std::uint64_t wanted);
  void release(std::uint64_t address, std::uint64_t size) { addresses_.give(address, size); }

  Range& add(Range range);
  void erase(std::uint64_t base) { ranges_.erase(base); }
  // The range that contains `address`; nullptr: none, so it may be ordinary host memory.
  Range* find(std::uint64_t address);
  // Whether it is one of the addresses that only a device may touch.
  bool is_device(std::uint64_t address) const {
    return address >= addresses_.begin() && address - addresses_.begin() < addresses_.size();
  }
  // The bytes behind [address, address + size), in order. nullopt: not all of it exists, or the
  // device may not touch it. Ordinary host memory is assumed to exist.
  std::optional<std::vector<std::span<std::byte>>> bytes(std::uint64_t address, std::uint64_t size,
                                                         bool write);
  // Whether any range overlaps [address, address + size).
  bool has_any(std::uint64_t address, std::uint64_t size);
  std::map<std::uint64_t, Range>& ranges() { return ranges_; }
  // Results of cuMemAddressReserve: address and size.
  std::map<std::uint64_t, std::uint64_t>& reservations() { return reservations_; }

 private:
  Arena addresses_;
  std::map<std::uint64_t, Range> ranges_;
  std::map<std::uint64_t, std::uint64_t> reservations_;
  std::uint64_t last_id_ = 0;
};

}  // namespace tranche::sim::cuda
