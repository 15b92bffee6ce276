#include "sim/gpu/busy_time.h"

#include <algorithm>

#include "sim/gpu/gpu_time.h"
#include "sim/gpu/uses.h"
#include "sim/state/clock.h"

namespace tranche::sim {
namespace {

bool is_part(std::uint32_t wanted, std::uint32_t gpu_instance) {
  return wanted == kNone || wanted == gpu_instance;
}

std::uint64_t kernels_ns(const State& state, std::uint32_t gpu, std::uint32_t gpu_instance) {
  std::uint64_t sum = 0;
  for (const Turns& turns : state.turns) {
    if (turns.used.load(std::memory_order_acquire) == 0) break;
    if (turns.gpu == gpu && is_part(gpu_instance, turns.gpu_instance)) sum += turns.busy_ns.load();
  }
  return sum;
}

std::uint64_t declared_ns(const Simulation& sim, std::uint32_t gpu, std::uint32_t gpu_instance,
                          std::uint64_t begin_ns, std::uint64_t end_ns) {
  std::uint64_t sum = 0;
  for (const LiveUse& live : live_uses(sim, gpu)) {
    if (!is_part(gpu_instance, live.use->gpu_instance)) continue;
    const std::uint64_t since = std::max(begin_ns, live.use->declared_since_ns.load());
    const std::uint64_t permille = live.use->declared_permille.load();
    if (since < end_ns) sum += (end_ns - since) / 1000 * permille;
  }
  return sum;
}

}  // namespace

BusyTime busy_time(const Simulation& sim, std::uint32_t gpu, std::uint32_t gpu_instance) {
  bring_up_to_date(sim, gpu);
  State& state = sim.state();
  Gpu& hardware = state.gpus[gpu];
  BusyAccounts& busy = gpu_instance == kNone ? hardware.busy : hardware.instance_busy[gpu_instance];
  const Simulation::Guard guard(state);
  const std::uint32_t active = busy.active.load(std::memory_order_acquire) % 2;
  BusyAccount account = busy.accounts[active];
  const std::uint64_t now = std::max(now_ns(state), account.until_ns);
  const std::uint64_t kernels = kernels_ns(state, gpu, gpu_instance);
  if (account.until_ns == 0 && gpu_instance == kNone) account.until_ns = hardware.began_ns;
  if (account.until_ns == 0) account = {.until_ns = now, .busy_ns = 0, .kernels_ns = kernels};
  const std::uint64_t more =
      kernels - account.kernels_ns + declared_ns(sim, gpu, gpu_instance, account.until_ns, now);
  account.busy_ns += std::min(more, now - account.until_ns);
  account.kernels_ns = kernels;
  account.until_ns = now;
  busy.accounts[1 - active] = account;
  busy.active.store(1 - active, std::memory_order_release);
  return {.until_ns = account.until_ns, .busy_ns = account.busy_ns};
}

}  // namespace tranche::sim
