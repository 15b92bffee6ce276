#pragma once
// Faults and events injected into a running machine through its state.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

struct FaultSpec {
  FaultKind kind = FaultKind::kFail;
  std::string function = "*";  // a function of NVML or the driver, "*" (all of NVML), "cu*"
  std::uint32_t gpu = kNone;   // kNone: any
  std::uint32_t error = 0;     // kFail
  std::uint64_t delay_us = 0;  // kDelay
  std::int64_t passing = 0;    // number of calls that pass first
  std::int64_t strikes = -1;   // then how often it applies; negative: until it is cleared
};

// kUnavailable if kMaxFaults are active; kInvalidArgument for a name that is too long.
Result<void> add_fault(const Simulation& sim, const FaultSpec& fault);
void clear_faults(const Simulation& sim);

// Waits and returns as the faults demand, for a call of `function` about `gpu` (kNone: about none).
// Returns the code to return (NVML's or the driver's), 0: continue. Ends early when the faults
// change.
// `done`, if given: receives the code to return once the call has done its work; otherwise such
// faults never apply.
std::uint32_t meet_faults(const Simulation& sim, std::string_view function, std::uint32_t gpu,
                          std::uint32_t* done = nullptr);

struct EventSpec {
  std::uint64_t type = 0;
  std::uint64_t data = 0;
  std::uint32_t gpu = 0;
  std::uint32_t gpu_instance = kNone;
  std::uint32_t compute_instance = kNone;
};
void post_event(const Simulation& sim, const EventSpec& event);
// The event with sequence number `sequence`; false if it is overwritten or not there yet.
bool read_event(const State& state, std::uint64_t sequence, EventSpec& out);

// A GPU disappears or returns.
void set_presence(const Simulation& sim, std::uint32_t gpu, Presence presence);

}  // namespace tranche::sim
