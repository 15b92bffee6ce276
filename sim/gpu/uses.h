#pragma once
// The users of a GPU, read from the process slots of live processes.

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "sim/state/simulation.h"

namespace tranche::sim {

// A whole GPU, or a MIG device on it.
struct UseTarget {
  std::uint32_t gpu = 0;
  std::uint32_t gpu_instance = kNone;
  std::uint32_t compute_instance = kNone;
  UseKind kind = UseKind::kCompute;
};

struct LiveUse {
  const ProcessSlot* process = nullptr;
  const Use* use = nullptr;
  pid_t pid = 0;  // 0: in an invisible pid namespace
};

// Uses of GPU `gpu` by live processes.
std::vector<LiveUse> live_uses(const Simulation& sim, std::uint32_t gpu);

// Whether another process has NVML open on GPU `gpu`.
bool is_open_elsewhere(const Simulation& sim, std::uint32_t gpu);

// A new use of the caller's slot. kUnavailable if the slot already has kMaxUses.
Result<Use*> add_use(const Simulation& sim, ProcessSlot& slot, const UseTarget& target);
// Ends a use of the caller's process and frees its memory.
void remove_use(const Simulation& sim, Use& use);

// Whether the compute mode of the device's GPU allows `own` to create contexts there. With
// EXCLUSIVE_PROCESS if no other process has any. Clients of an MPS server have none of their own in
// this sense; their server has.
bool admits(const Simulation& sim, const ProcessSlot& own, const UseTarget& target);
}  // namespace tranche::sim
