#pragma once
// Who uses a GPU, how much memory, how busy: read from the process slots of those who are alive.
//
// Utilisation comes in samples, as on hardware: wall clock is cut into windows of the model's
// sample period, and only whole windows in the past are told. A process's time in a window is what
// it recorded there (kernels), and its declared load. When all together want more than the GPU has,
// each gets its part, as time-slicing gives it. MIG instances do not share.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "sim/simulation.h"

namespace tranche::sim {

struct LiveUse {
  const ProcessSlot* process = nullptr;
  const Use* use = nullptr;
  pid_t pid = 0;  // 0: in a pid namespace out of sight
};

// Uses of GPU `gpu` by living processes.
std::vector<LiveUse> live_uses(const Simulation& sim, std::uint32_t gpu);

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
void give_memory(const Simulation& sim, Use& use, std::uint64_t bytes);
// Managed memory comes to the GPU as far as there is room: how much did.
std::uint64_t take_managed(const Simulation& sim, Use& use, std::uint64_t bytes);
void give_managed(const Simulation& sim, Use& use, std::uint64_t bytes);
// Ends a use of the caller's process: its memory is free.
void remove_use(const Simulation& sim, Use& use);

// A new use of the caller's slot. kUnavailable when the slot holds kMaxUses already.
struct UseTarget {
  std::uint32_t gpu = 0;
  std::uint32_t gpu_instance = kNone;
  std::uint32_t compute_instance = kNone;
  UseKind kind = UseKind::kCompute;
};
Result<Use*> add_use(const Simulation& sim, ProcessSlot& slot, const UseTarget& target);

// Does the compute mode of the device's GPU let `own` make contexts there? With EXCLUSIVE_PROCESS
// when nobody else has any; clients of an MPS server have none of their own in this sense, their
// server has.
bool admits(const Simulation& sim, const ProcessSlot& own, const UseTarget& target);
// Ends what MPS's client `slot` has on all devices: its work and its memory. Nothing happens when
// somebody else than `holder` has the slot by now.
void end_work(const Simulation& sim, ProcessSlot& slot, std::uint64_t holder);

struct ProcessLoad {
  pid_t pid = 0;
  std::uint32_t permille = 0;
};
struct WindowLoad {
  std::uint64_t end_ns = 0;            // wall clock at the end of the window
  std::uint32_t permille = 0;          // of the window with at least one kernel on the GPU
  std::vector<ProcessLoad> processes;  // those above 0
};
// The load of GPU `gpu` in window `index` (wall clock / sample period).
WindowLoad window_load(const Simulation& sim, std::uint32_t gpu, std::uint64_t index);
// The newest whole window. Lets the GPU's time pass up to now first.
std::uint64_t last_window(const Simulation& sim, std::uint32_t gpu);

}  // namespace tranche::sim
