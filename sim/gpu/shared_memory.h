#pragma once
// Physical memory that a process exports and others import: it is there until its last holder lets
// it go or dies, whoever made it. The machine has it once. Of the processes that hold it, it counts
// as memory of the one that came first, so NVML shows it at its maker as long as that one has it,
// and then at one of the others.
//
// What only a descriptor holds (exported, let go, not imported yet) is held by no process. Here it
// counts for nobody until somebody imports it, and an import may then find no room. Thread-safe.
// The caller holds no Guard where it says so.

#include <cstdint>

#include "base/result.h"
#include "sim/gpu/uses.h"

namespace tranche::sim {

struct SharedMemoryId {
  std::uint32_t place = 0;
  std::uint32_t reserved = 0;
  std::uint64_t serial = 0;  // 0: none
};

// A new one of `bytes` on the use's device, which `slot`, the caller's, holds once. A Guard is
// held, and there is room (take_shared_memory() in memory.h). kUnavailable: there are too many.
Result<SharedMemoryId> add_shared_memory(const Simulation& sim, ProcessSlot& slot, const Use& use,
                                         std::uint64_t bytes);
// Another hold of it by `slot`. kNotFound: nobody holds it any more. kUnavailable: too many do.
// No Guard is held.
Result<void> hold_shared_memory(const Simulation& sim, ProcessSlot& slot, SharedMemoryId id);
void drop_shared_memory(const Simulation& sim, ProcessSlot& slot, SharedMemoryId id);

// Bytes of shared memory that count as `live`'s. With or without a Guard.
std::uint64_t shared_bytes(const Simulation& sim, const LiveUse& live);
// All that the process has there, less managed memory.
std::uint64_t memory_of(const Simulation& sim, const LiveUse& live);
std::uint64_t memory_of(const Simulation& sim, const ProcessSlot& own, const Use& use);

}  // namespace tranche::sim
