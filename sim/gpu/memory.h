#pragma once
// The memory of a GPU or GPU instance: how much there is, who has it, taking and giving it.
// Thread-safe. Who takes or gives holds no Guard.

#include <cstdint>

#include "base/result.h"
#include "sim/gpu/memory_limits.h"
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

// The limits of the caller's control group that hold there. No Guard is held.
OwnLimits own_limits(const Simulation& sim, const Use& use);
// So many bytes are free for `use` now; managed memory is moved to the host where that makes the
// room. A Guard is held. kUnavailable when the GPU (or the MIG instance) has not got them, or a
// limit of the caller's control group (memory_limits.h) forbids it.
Result<void> make_room(const Simulation& sim, const OwnLimits& limits, const Use& use,
                       std::uint64_t bytes);
// Gives `use` so many bytes more; kUnavailable as make_room().
Result<void> take_memory(const Simulation& sim, Use& use, std::uint64_t bytes);
void give_memory(const Simulation& sim, Use& use, std::uint64_t bytes);
// Managed memory comes to the GPU as far as there is room: how much did.
std::uint64_t take_managed(const Simulation& sim, Use& use, std::uint64_t bytes);
void give_managed(const Simulation& sim, Use& use, std::uint64_t bytes);

}  // namespace tranche::sim
