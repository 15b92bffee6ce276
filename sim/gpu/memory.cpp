#include "sim/gpu/memory.h"

#include <algorithm>

#include "fmt/format.h"
#include "sim/gpu/memory_limits.h"
#include "sim/state/mig_layout.h"

namespace tranche::sim {
namespace {

std::uint64_t free_bytes(const MemoryUse& use) {
  const std::uint64_t taken = use.used + use.reserved;
  return use.total > taken ? use.total - taken : 0;
}

// Moves managed memory of any process to make room for memory that cannot move.
void move_to_host(const Simulation& sim, const Use& taker, std::uint64_t bytes) {
  for (const LiveUse& live : live_uses(sim, taker.gpu)) {
    if (taker.gpu_instance != kNone && live.use->gpu_instance != taker.gpu_instance) continue;
    auto& managed = const_cast<Use*>(live.use)->managed;  // NOLINT: the machine's lock is held
    const std::uint64_t moved = std::min(bytes, managed.load());
    managed.fetch_sub(moved);
    bytes -= moved;
  }
}

OwnLimits own_limits(const Simulation& sim, const Use& use) {
  return use.gpu_instance == kNone ? OwnLimits::look(sim, use.gpu) : OwnLimits();
}

Result<void> make_room(const Simulation& sim, const OwnLimits& limits, const Use& use,
                       std::uint64_t bytes) {
  if (const std::uint64_t room = limits.room(sim); bytes > room) {
    return fail(Code::kUnavailable,
                fmt::format("out of memory: {} MiB asked, the control group's limit leaves {} MiB",
                            bytes >> 20U, room >> 20U));
  }
  const MemoryUse now = memory_use(sim, use.gpu, use.gpu_instance);
  const std::uint64_t free = free_bytes(now);
  if (bytes > free + now.managed) {
    return fail(Code::kUnavailable,
                fmt::format("out of memory: {} MiB asked, {} MiB free", bytes >> 20U, free >> 20U));
  }
  if (bytes > free) move_to_host(sim, use, bytes - free);
  return {};
}

}  // namespace

MemoryUse memory_use(const Simulation& sim, std::uint32_t gpu, std::uint32_t gpu_instance) {
  const State& state = sim.state();
  const Model& model = state.models[state.gpus[gpu].model];
  MemoryUse sum{
      .total = model.memory_bytes, .reserved = model.reserved_bytes, .used = model.idle_bytes};
  if (gpu_instance != kNone) {
    const GpuInstance& instance = state.gpus[gpu].instances[gpu_instance];
    const Profile& profile = profile_of(state, state.gpus[gpu], instance);
    sum = {.total = std::uint64_t{profile.memory_mib} << 20U};
  }
  for (const LiveUse& live : live_uses(sim, gpu)) {
    if (gpu_instance != kNone && live.use->gpu_instance != gpu_instance) continue;
    sum.used += memory_of(sim, live);
    sum.managed += live.use->managed.load(std::memory_order_relaxed);
  }
  sum.used += sum.managed;
  return sum;
}

Result<void> take_memory(const Simulation& sim, Use& use, std::uint64_t bytes) {
  const auto limits = own_limits(sim, use);
  const Simulation::Guard guard(sim.state());
  TRY(make_room(sim, limits, use, bytes));
  use.memory.fetch_add(bytes);
  return {};
}

Result<SharedMemoryId> take_shared_memory(const Simulation& sim, ProcessSlot& slot, const Use& use,
                                          std::uint64_t bytes) {
  const auto limits = own_limits(sim, use);
  const Simulation::Guard guard(sim.state());
  TRY(make_room(sim, limits, use, bytes));
  return add_shared_memory(sim, slot, use, bytes);
}

std::uint64_t take_managed(const Simulation& sim, Use& use, std::uint64_t bytes) {
  const Simulation::Guard guard(sim.state());
  const std::uint64_t taken =
      std::min(bytes, free_bytes(memory_use(sim, use.gpu, use.gpu_instance)));
  use.managed.fetch_add(taken);
  return taken;
}

void give_managed(const Simulation& sim, Use& use, std::uint64_t bytes) {
  const Simulation::Guard guard(sim.state());
  use.managed.fetch_sub(std::min(bytes, use.managed.load()));
}

void give_memory(const Simulation& sim, Use& use, std::uint64_t bytes) {
  const Simulation::Guard guard(sim.state());
  use.memory.fetch_sub(std::min(bytes, use.memory.load()));
}

}  // namespace tranche::sim
