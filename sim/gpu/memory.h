#pragma once
// The memory of a GPU or GPU instance: how much there is, its users, allocating and freeing it.
// Thread-safe. The caller of allocating or freeing functions must not hold a Guard.

#include <cstdint>

#include "base/result.h"
#include "sim/gpu/shared_memory.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

// Bytes of memory of a GPU or one of its GPU instances (kNone: the GPU).
struct MemoryUse {
  std::uint64_t total = 0;
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;     // by processes and the idle GPU, excluding `reserved`
  std::uint64_t managed = 0;  // part of `used` that could move to the host
};
MemoryUse memory_use(const Simulation& sim, std::uint32_t gpu, std::uint32_t gpu_instance);

// Gives `use` `bytes` more; managed memory is moved to the host if that makes room. kUnavailable if
// the GPU (or the MIG instance) lacks them, or a limit of the caller's control group
// (memory_limits.h) forbids it.
Result<void> take_memory(const Simulation& sim, Use& use, std::uint64_t bytes);
// The same for memory that other processes may hold too; `slot`, the caller's, gets one hold.
Result<SharedMemoryId> take_shared_memory(const Simulation& sim, ProcessSlot& slot, const Use& use,
                                          std::uint64_t bytes);
void give_memory(const Simulation& sim, Use& use, std::uint64_t bytes);
// Managed memory becomes resident on the GPU as far as there is room; returns how much did.
std::uint64_t take_managed(const Simulation& sim, Use& use, std::uint64_t bytes);
void give_managed(const Simulation& sim, Use& use, std::uint64_t bytes);

}  // namespace tranche::sim
