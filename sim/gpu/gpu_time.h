#pragma once
// The timeline (timeline.h) of one GPU or MIG device, shared by all processes of the machine.
//
// No process drives it. The first reader brings it up to date, under the device's lock, in a copy
// that one store then publishes; a process killed at any instruction leaves either the old or the
// new one. Lanes of dead processes disappear when they are next looked at: at once if their process
// slot was reused or released, else within a millisecond (record locks, liveness.h).
// What ran is added to the processes' Use::windows, which NVML reports as utilisation, and to
// Turns::busy_ns, which outlives them (busy_time.h). That is not part of the one store: a kill in
// between loses or repeats one step there, nothing else. Thread-safe.

#include <cstdint>
#include <optional>

#include "sim/gpu/uses.h"
#include "sim/state/simulation.h"

namespace tranche::sim {

struct LaneSpec {
  std::uint32_t group = kNoGroup;  // MPS server
  std::uint32_t cap = kFullRate;   // permille
  const ProcessSlot* process = nullptr;
  const Use* use = nullptr;
};

// Information about a place in a lane.
struct Progress {
  bool done = false;
  std::uint64_t executed_ns = 0;  // of the lane, until now
  std::uint64_t time_ns = 0;      // done: when; else the earliest time when it will be
  bool contended = false;  // others want the device too, so the prediction may be early or late
};

class GpuTime {
 public:
  // The timeline of `target`, created on first use. kUnavailable: kMaxTimelines are in use. `sim`
  // must outlive it.
  static Result<GpuTime> open(const Simulation& sim, const UseTarget& target);

  // kUnavailable when kMaxLanes contexts share the device.
  Result<std::uint64_t> add_lane(const LaneSpec& spec) const;
  void remove_lane(std::uint64_t lane) const;
  // Removes all lanes of a process, which may be another one.
  void remove_lanes_of(const ProcessSlot& process, std::uint64_t holder) const;
  // Adds work to a lane, from now on. Returns the place at which it is done; 0 if the lane is gone.
  std::uint64_t submit(std::uint64_t lane, std::uint64_t work_ns) const;
  // A lane that is gone has done everything.
  Progress look(std::uint64_t lane, std::uint64_t place_ns) const;
  // The place after everything submitted so far.
  std::uint64_t end_of(std::uint64_t lane) const;
  // Records everything that has happened until now.
  void bring_up_to_date() const;

 private:
  class Transaction;
  GpuTime(const Simulation& sim, Turns& turns) : sim_(&sim), turns_(&turns) {}

  const Simulation* sim_;
  Turns* turns_;
};

// The length of a time slice on GPU `gpu`: its model's, multiplied by half, two or four depending
// on its policy (invented: NVIDIA publishes no lengths).
std::uint64_t time_slice_ns(const State& state, std::uint32_t gpu);
// Brings every timeline of GPU `gpu` up to date, for readers of utilisation.
void bring_up_to_date(const Simulation& sim, std::uint32_t gpu);

// Ends the work and memory of MPS client `slot` on all devices. Does nothing if the slot no longer
// belongs to `holder`.
void end_work(const Simulation& sim, ProcessSlot& slot, std::uint64_t holder);

}  // namespace tranche::sim
