#pragma once
// Physical memory that a process exports and others import. It exists until its last holder
// releases it or dies, whichever process created it. The machine has it once. Among its holders it
// counts as memory of the earliest one, so NVML shows it for its creator as long as that one holds
// it, and then for one of the others.
//
// Memory held only by a descriptor (exported, released, not imported yet) belongs to no process.
// Here it is not counted until it is imported, and an import may then find no room. Thread-safe.
// The caller must not hold a Guard where noted.

#include <cstdint>

#include "base/result.h"
#include "sim/gpu/uses.h"

namespace tranche::sim {

struct SharedMemoryId {
  std::uint32_t place = 0;
  std::uint32_t reserved = 0;
  std::uint64_t serial = 0;  // 0: none
};

// Creates one of `bytes` on the use's device, with one hold by `slot`, the caller's. A Guard is
// held, and there is room (take_shared_memory() in memory.h). kUnavailable: there are too many.
Result<SharedMemoryId> add_shared_memory(const Simulation& sim, ProcessSlot& slot, const Use& use,
                                         std::uint64_t bytes);
// Adds another hold by `slot`. kNotFound: it has no holder any more. kUnavailable: too many
// holders.
// No Guard may be held.
Result<void> hold_shared_memory(const Simulation& sim, ProcessSlot& slot, SharedMemoryId id);
void drop_shared_memory(const Simulation& sim, ProcessSlot& slot, SharedMemoryId id);

// Bytes of shared memory that count for `live`. With or without a Guard.
std::uint64_t shared_bytes(const Simulation& sim, const LiveUse& live);
// All memory of the process there, excluding managed memory.
std::uint64_t memory_of(const Simulation& sim, const LiveUse& live);
std::uint64_t memory_of(const Simulation& sim, const ProcessSlot& own, const Use& use);

}  // namespace tranche::sim
