#include "sim/state/faults.h"

#include <algorithm>
#include <cstring>

#include "fmt/format.h"
#include "sim/state/clock.h"

namespace tranche::sim {
namespace {

// A driver function is one name, whichever of its interfaces is called: cuMemAlloc_v2 and
// cuLaunchKernel_ptsz are cuMemAlloc and cuLaunchKernel. NVML's versions are names of their own.
std::string_view base_name(std::string_view function) {
  if (!function.starts_with("cu")) return function;
  for (const std::string_view twin : {"_ptds", "_ptsz"}) {
    if (function.ends_with(twin)) function.remove_suffix(twin.size());
  }
  const auto version = function.rfind("_v");
  const bool versioned = version != function.npos && version + 3 == function.size() &&
                         function.back() >= '2' && function.back() <= '9';
  return versioned ? function.substr(0, version) : function;
}

bool concerns(const Fault& fault, std::string_view function, std::uint32_t gpu) {
  if (fault.used.load(std::memory_order_acquire) == 0) return false;
  if (fault.gpu != kNone && fault.gpu != gpu) return false;
  const std::string_view name(fault.function);
  if (name == "*") return function.starts_with("nvml");
  if (name == "cu*") return function.starts_with("cu");
  return name == base_name(function);
}

// Counts a call that the fault concerns; whether it strikes this one.
bool strikes(Fault& fault) {
  if (fault.passing.load() > 0 && fault.passing.fetch_sub(1) > 0) return false;
  if (fault.strikes.load() < 0) return true;
  return fault.strikes.load() > 0 && fault.strikes.fetch_sub(1) > 0;
}

// Waits until `deadline_ns` or, without one, for ever; ends early when `fault` is no longer there.
void wait_for(const State& state, const Fault& fault, std::uint64_t deadline_ns, bool limited) {
  for (;;) {
    const std::uint32_t seen = state.fault_futex.load(std::memory_order_acquire);
    if (fault.used.load(std::memory_order_acquire) == 0) return;
    const std::uint64_t now = real_ns();
    if (limited && now >= deadline_ns) return;
    futex_wait(state.fault_futex, seen,
               limited ? std::optional(deadline_ns - now) : std::optional<std::uint64_t>());
  }
}

}  // namespace

Result<void> add_fault(const Simulation& sim, const FaultSpec& spec) {
  State& state = sim.state();
  const Simulation::Guard guard(state);
  for (Fault& fault : state.faults) {
    if (fault.used.load() != 0) continue;
    if (spec.function.size() >= sizeof fault.function) {
      return fail(Code::kInvalidArgument,
                  fmt::format("'{}' is longer than any function name", spec.function));
    }
    fault.kind = static_cast<std::uint32_t>(spec.kind);
    fault.gpu = spec.gpu;
    fault.error = spec.error;
    fault.delay_us = spec.delay_us;
    fault.passing.store(spec.passing);
    fault.strikes.store(spec.strikes);
    std::memset(fault.function, 0, sizeof fault.function);
    base_name(spec.function).copy(fault.function, sizeof fault.function - 1);
    fault.used.store(1, std::memory_order_release);
    state.fault_count.fetch_add(1, std::memory_order_release);
    futex_bump(state.fault_futex);
    return {};
  }
  return fail(Code::kUnavailable, fmt::format("{} faults are in force already", kMaxFaults),
              "tranche-sim clear");
}

void clear_faults(const Simulation& sim) {
  State& state = sim.state();
  const Simulation::Guard guard(state);
  for (Fault& fault : state.faults) fault.used.store(0, std::memory_order_release);
  state.fault_count.store(0, std::memory_order_release);
  futex_bump(state.fault_futex);
}

std::uint32_t meet_faults(const Simulation& sim, std::string_view function, std::uint32_t gpu,
                          std::uint32_t* done) {
  State& state = sim.state();
  if (state.fault_count.load(std::memory_order_acquire) == 0) return 0;
  for (Fault& fault : state.faults) {
    if (!concerns(fault, function, gpu) || !strikes(fault)) continue;
    switch (static_cast<FaultKind>(fault.kind)) {
      case FaultKind::kFail:
        return fault.error;
      case FaultKind::kDelay:
        wait_for(state, fault, real_ns() + fault.delay_us * 1000, true);
        break;
      case FaultKind::kHang:
        wait_for(state, fault, 0, false);
        break;
      case FaultKind::kFailDone:
        if (done != nullptr) *done = fault.error;
        break;
    }
  }
  return 0;
}

void post_event(const Simulation& sim, const EventSpec& spec) {
  State& state = sim.state();
  const Simulation::Guard guard(state);
  const std::uint64_t sequence = state.event_sequence.load() + 1;
  Event& event = state.events[sequence % kMaxEvents];
  event.sequence.store(0);
  event.type = spec.type;
  event.data = spec.data;
  event.gpu = spec.gpu;
  event.gpu_instance = spec.gpu_instance;
  event.compute_instance = spec.compute_instance;
  event.sequence.store(sequence);
  state.event_sequence.store(sequence);
  futex_bump(state.event_futex);
}

bool read_event(const State& state, std::uint64_t sequence, EventSpec& out) {
  const Event& event = state.events[sequence % kMaxEvents];
  if (event.sequence.load() != sequence) return false;
  out = {event.type, event.data, event.gpu, event.gpu_instance, event.compute_instance};
  std::atomic_thread_fence(std::memory_order_acquire);
  return event.sequence.load() == sequence;
}

void set_presence(const Simulation& sim, std::uint32_t gpu, Presence presence) {
  const Simulation::Guard guard(sim.state());
  sim.state().gpus[gpu].presence.store(static_cast<std::uint32_t>(presence));
}

}  // namespace tranche::sim
