#pragma once
// The memory of a GPU or GPU instance: how much there is, who has it, taking and giving it.
// Thread-safe. Who takes or gives holds no Guard.

#include <cstdint>

#include "base/result.h"
#include "sim/gpu/shared_memory.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

// Bytes of memory there, of a GPU or of one of its GPU instances (kNone: the GPU).
struct MemoryUse {
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;     // by processes and the idle GPU, without `reserved`
  std::uint64_t managed = 0;  // of `used`: could move to the host
};
MemoryUse memory_use(const Simulation& sim, std::uint32_t gpu, std::uint32_t gpu_instance);

// Gives `use` so many bytes more; managed memory is moved to the host where that makes the room.
// kUnavailable when the GPU (or the MIG instance) has not got them, or a limit of the caller's
// control group (memory_limits.h) forbids it.
Result<void> take_memory(const Simulation& sim, Use& use, std::uint64_t bytes);
// The same for memory that other processes may hold too; `slot`, the caller's, holds it once.
Result<SharedMemoryId> take_shared_memory(const Simulation& sim, ProcessSlot& slot, const Use& use,
                                          std::uint64_t bytes);
void give_memory(const Simulation& sim, Use& use, std::uint64_t bytes);
// Managed memory comes to the GPU as far as there is room: how much did.
std::uint64_t take_managed(const Simulation& sim, Use& use, std::uint64_t bytes);
void give_managed(const Simulation& sim, Use& use, std::uint64_t bytes);

}  // namespace tranche::sim
