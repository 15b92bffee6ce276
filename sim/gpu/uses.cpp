#include "sim/gpu/uses.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "sim/state/liveness.h"

namespace tranche::sim {
std::vector<LiveUse> live_uses(const Simulation& sim, std::uint32_t gpu) {
  std::vector<LiveUse> uses;
  for (unsigned i = 0; i < kMaxProcesses; ++i) {
    const auto pid = sim.holder(i);
    if (!pid) continue;
    const ProcessSlot& slot = sim.state().processes[i];
    for (const Use& use : slot.uses) {
      if (use.used.load(std::memory_order_acquire) != 0 && use.gpu == gpu) {
        uses.push_back({&slot, &use, *pid});
      }
    }
  }
  return uses;
}

bool is_open_elsewhere(const Simulation& sim, std::uint32_t gpu) {
  for (unsigned i = 0; i < kMaxProcesses; ++i) {
    const ProcessSlot& slot = sim.state().processes[i];
    if (!sim.is_taken(i) || (slot.open_gpus.load() >> gpu & 1U) == 0) continue;
    if (slot.self == current_self()) continue;
    if (sim.holder(i)) return true;
  }
  return false;
}

Result<Use*> add_use(const Simulation& sim, ProcessSlot& slot, const UseTarget& target) {
  const Simulation::Guard guard(sim.state());
  for (Use& use : slot.uses) {
    if (use.used.load() != 0) continue;
    std::memset(static_cast<void*>(&use), 0, sizeof use);
    use.gpu = target.gpu;
    use.gpu_instance = target.gpu_instance;
    use.compute_instance = target.compute_instance;
    use.kind = static_cast<std::uint32_t>(target.kind);
    use.contexts.store(1);
    use.used.store(1, std::memory_order_release);
    return &use;
  }
  return fail(Code::kUnavailable,
              fmt::format("a process may use at most {} simulated devices", kMaxUses));
}

void remove_use(const Simulation& sim, Use& use) {
  const Simulation::Guard guard(sim.state());
  use.used.store(0, std::memory_order_release);
}

bool admits(const Simulation& sim, const ProcessSlot& own, const UseTarget& target) {
  constexpr std::uint32_t kProhibited = 2;  // NVML's and CUDA's numbers
  constexpr std::uint32_t kExclusiveProcess = 3;
  const auto mode = sim.state().gpus[target.gpu].compute_mode.load();
  if (mode == kProhibited) return false;
  if (mode != kExclusiveProcess || target.kind == UseKind::kMps) return true;
  return std::ranges::none_of(live_uses(sim, target.gpu), [&](const LiveUse& live) {
    return live.process != &own && live.use->contexts.load() > 0 &&
           live.use->kind != static_cast<std::uint32_t>(UseKind::kMps);
  });
}

}  // namespace tranche::sim
