#include "sim/gpu/utilisation.h"

#include <algorithm>

#include "sim/gpu/gpu_time.h"
#include "sim/gpu/uses.h"
#include "sim/state/clock.h"

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

}  // namespace

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
