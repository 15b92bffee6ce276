#pragma once
// The process's device addresses: which are taken, and what memory lies behind each.
//
// Device addresses come from one large reservation that nothing on the host may touch, so that a
// program that follows a device pointer dies as on hardware. What lies there is found here; copies
// go to the bytes (Block). Managed and page-locked host memory is ordinary memory, its address the
// same on both sides. The driver's lock is held.

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
  kAllocated,   // cuMemAlloc and its kin, out of the context's heap
  kPooled,      // cuMemAllocAsync, out of a pool's
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
  std::uint64_t size = 0;  // as asked
  RangeKind kind = RangeKind::kAllocated;
  Device* device = nullptr;
  std::weak_ptr<Context> context;             // whose it is; kMapped: nobody's
  Piece piece;                                // device memory
  std::byte* host = nullptr;                  // host memory
  std::shared_ptr<void> owned;                // keeps it, where the library made it
  std::shared_ptr<Pool> pool;                 // kPooled
  std::shared_ptr<GraphMemory> graph_memory;  // kGraph
  std::shared_ptr<Physical> physical;         // kMapped
  unsigned flags = 0;                         // of the call that made it
  unsigned access = 3;                        // CU_MEM_ACCESS_FLAGS_PROT_*
  std::uint64_t id = 0;
  bool is_freed = false;  // in some stream, later
  // kManaged:
  std::uint64_t resident = 0;  // bytes that lie on the device, unless others pushed them out

  bool is_host() const { return kind == RangeKind::kHost || kind == RangeKind::kRegistered; }
  std::byte* bytes() const { return host != nullptr ? host : piece.bytes(); }
};

class AddressSpace {
 public:
  static Result<std::unique_ptr<AddressSpace>> make();
  explicit AddressSpace(Arena addresses) : addresses_(std::move(addresses)) {}

  // Addresses with nothing behind them. At `wanted` if that is free. nullopt: none left.
  std::optional<std::uint64_t> reserve(std::uint64_t size, std::uint64_t alignment,
                                       std::uint64_t wanted);
  void release(std::uint64_t address, std::uint64_t size) { addresses_.give(address, size); }

  Range& add(Range range);
  void erase(std::uint64_t base) { ranges_.erase(base); }
  // The range that holds `address`; nullptr: none, which may be ordinary host memory.
  Range* find(std::uint64_t address);
  // Is it one of the addresses that only a device may touch?
  bool is_device(std::uint64_t address) const {
    return address >= addresses_.begin() && address - addresses_.begin() < addresses_.size();
  }
  // The bytes behind [address, address + size), in order. nullopt: not all of it is there, or the
  // device may not touch it. Ordinary host memory is taken to be there.
  std::optional<std::vector<std::span<std::byte>>> bytes(std::uint64_t address, std::uint64_t size,
                                                         bool write);
  // Does any range meet [address, address + size)?
  bool has_any(std::uint64_t address, std::uint64_t size);
  std::map<std::uint64_t, Range>& ranges() { return ranges_; }
  // What cuMemAddressReserve gave out: address and size.
  std::map<std::uint64_t, std::uint64_t>& reservations() { return reservations_; }

 private:
  Arena addresses_;
  std::map<std::uint64_t, Range> ranges_;
  std::map<std::uint64_t, std::uint64_t> reservations_;
  std::uint64_t last_id_ = 0;
};

}  // namespace tranche::sim::cuda
