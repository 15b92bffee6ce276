#pragma once
// Who uses a GPU: read from the process slots of those who are alive.

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
  pid_t pid = 0;  // 0: in a pid namespace out of sight
};

// Uses of GPU `gpu` by living processes.
std::vector<LiveUse> live_uses(const Simulation& sim, std::uint32_t gpu);

// Another process has NVML open on GPU `gpu`.
bool is_open_elsewhere(const Simulation& sim, std::uint32_t gpu);

// A new use of the caller's slot. kUnavailable when the slot holds kMaxUses already.
Result<Use*> add_use(const Simulation& sim, ProcessSlot& slot, const UseTarget& target);
// Ends a use of the caller's process: its memory is free.
void remove_use(const Simulation& sim, Use& use);

// Does the compute mode of the device's GPU let `own` make contexts there? With EXCLUSIVE_PROCESS
// when nobody else has any; clients of an MPS server have none of their own in this sense, their
// server has.
bool admits(const Simulation& sim, const ProcessSlot& own, const UseTarget& target);
}  // namespace tranche::sim
