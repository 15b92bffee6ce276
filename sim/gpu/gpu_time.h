#pragma once
// The timeline (timeline.h) of one GPU or MIG device, shared by all processes of the machine.
//
// Nobody runs it: whoever looks first brings it up to now, under the device's lock, in a copy that
// one store then publishes; a process killed at any instruction leaves the old one or the new one.
// Lanes of the dead vanish when somebody looks: at once when their process slot was claimed anew or
// given back, else within a millisecond (record locks, liveness.h).
// What ran is added to the processes' Use::windows, which is what NVML tells as utilisation. That
// is not part of the one store: a kill in between loses or repeats one step there, nothing else.
// Thread-safe.

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

// What is known of a place in a lane.
struct Progress {
  bool done = false;
  std::uint64_t executed_ns = 0;  // of the lane, by now
  std::uint64_t time_ns = 0;      // done: when; else when it will be, at the earliest
  bool contended = false;  // others want the device too: the prediction may turn out early or late
};

class GpuTime {
 public:
  // The timeline of `target`, made when it is the first. kUnavailable: kMaxTimelines are in use.
  // `sim` outlives it.
  static Result<GpuTime> open(const Simulation& sim, const UseTarget& target);

  // kUnavailable when kMaxLanes contexts share the device.
  Result<std::uint64_t> add_lane(const LaneSpec& spec) const;
  void remove_lane(std::uint64_t lane) const;
  // All lanes of a process, which may be another one.
  void remove_lanes_of(const ProcessSlot& process, std::uint64_t holder) const;
  // Adds work to a lane, from now on. The place at which it is done; 0 when the lane is gone.
  std::uint64_t submit(std::uint64_t lane, std::uint64_t work_ns) const;
  // A lane that is gone has done everything.
  Progress look(std::uint64_t lane, std::uint64_t place_ns) const;
  // Everything submitted so far.
  std::uint64_t end_of(std::uint64_t lane) const;
  // Lets what has happened until now be recorded.
  void bring_up_to_date() const;

 private:
  class Transaction;
  GpuTime(const Simulation& sim, Turns& turns) : sim_(&sim), turns_(&turns) {}

  const Simulation* sim_;
  Turns* turns_;
};

// The length of a time slice on GPU `gpu`: its model's, by its policy half, twice or four times
// that (invented: NVIDIA tells no lengths).
std::uint64_t time_slice_ns(const State& state, std::uint32_t gpu);
// Brings every timeline of GPU `gpu` up to now, for those who read utilisation.
void bring_up_to_date(const Simulation& sim, std::uint32_t gpu);

// Ends what MPS's client `slot` has on all devices: its work and its memory. Nothing happens when
// somebody else than `holder` has the slot by now.
void end_work(const Simulation& sim, ProcessSlot& slot, std::uint64_t holder);

}  // namespace tranche::sim
