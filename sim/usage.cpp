#include "sim/usage.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "sim/clock.h"
#include "sim/gpu_time.h"
#include "sim/memory_limits.h"
#include "sim/mig.h"

namespace tranche::sim {
namespace {

std::uint64_t period_ns(const State& state, std::uint32_t gpu) {
  return std::uint64_t{state.models[state.gpus[gpu].model].sample_period_us} * 1000;
}

// What one use wants of window `index`, in permille.
std::uint64_t wanted(const Use& use, std::uint64_t index, std::uint64_t period) {
  std::uint64_t busy = 0;
  const Window& window = use.windows[index % kMaxWindows];
  if (window.index.load(std::memory_order_acquire) == index) {
    busy = window.busy_ns.load(std::memory_order_relaxed);
  }
  const std::uint64_t begin = index * period;
  const std::uint64_t since = use.declared_since_ns.load(std::memory_order_acquire);
  const std::uint64_t permille = use.declared_permille.load(std::memory_order_relaxed);
  const std::uint64_t overlap =
      since >= begin + period ? 0 : begin + period - std::max(begin, since);
  return busy * 1000 / period + permille * overlap / period;
}

std::uint64_t free_bytes(const MemoryUse& use) {
  const std::uint64_t taken = use.used + use.reserved;
  return use.total > taken ? use.total - taken : 0;
}

// Managed memory of whoever has some makes room for what cannot move.
void move_to_host(const Simulation& sim, const Use& taker, std::uint64_t bytes) {
  for (const LiveUse& live : live_uses(sim, taker.gpu)) {
    if (taker.gpu_instance != kNone && live.use->gpu_instance != taker.gpu_instance) continue;
    auto& managed = const_cast<Use*>(live.use)->managed;  // NOLINT: the machine's lock is held
    const std::uint64_t moved = std::min(bytes, managed.load());
    managed.fetch_sub(moved);
    bytes -= moved;
  }
}

}  // namespace

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
    sum.used += live.use->memory.load(std::memory_order_relaxed);
    sum.managed += live.use->managed.load(std::memory_order_relaxed);
  }
  sum.used += sum.managed;
  return sum;
}

Result<void> take_memory(const Simulation& sim, Use& use, std::uint64_t bytes) {
  const auto limits = use.gpu_instance == kNone ? OwnLimits::look(sim, use.gpu) : OwnLimits();
  const Simulation::Guard guard(sim.state());
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
  use.memory.fetch_add(bytes);
  return {};
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

void end_work(const Simulation& sim, ProcessSlot& slot, std::uint64_t holder) {
  if (slot.holder.load() != holder) return;
  for (Use& use : slot.uses) {
    const bool is_client = use.used.load(std::memory_order_acquire) != 0 &&
                           use.kind == static_cast<std::uint32_t>(UseKind::kMps);
    if (!is_client) continue;
    const auto time = GpuTime::open(sim, {.gpu = use.gpu,
                                          .gpu_instance = use.gpu_instance,
                                          .compute_instance = use.compute_instance});
    if (time) time->remove_lanes_of(slot, holder);
    remove_use(sim, use);
  }
}

WindowLoad window_load(const Simulation& sim, std::uint32_t gpu, std::uint64_t index) {
  const std::uint64_t period = period_ns(sim.state(), gpu);
  WindowLoad load{.end_ns = (index + 1) * period};
  std::uint64_t total = 0;
  std::vector<std::pair<pid_t, std::uint64_t>> wishes;
  for (const LiveUse& live : live_uses(sim, gpu)) {
    const std::uint64_t wish = wanted(*live.use, index, period);
    if (wish == 0) continue;
    total += wish;
    wishes.emplace_back(live.pid, wish);
  }
  load.permille = static_cast<std::uint32_t>(std::min<std::uint64_t>(total, 1000));
  for (const auto& [pid, wish] : wishes) {
    const std::uint64_t share = total > 1000 ? wish * 1000 / total : wish;
    load.processes.push_back({pid, static_cast<std::uint32_t>(share)});
  }
  return load;
}

std::uint64_t last_window(const Simulation& sim, std::uint32_t gpu) {
  bring_up_to_date(sim, gpu);
  return now_ns(sim.state()) / period_ns(sim.state(), gpu) - 1;
}

}  // namespace tranche::sim
