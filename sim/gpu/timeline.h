#pragma once
// How contexts share one GPU (or one MIG device) in time: a pure model on plain values.
//
// A lane is one context (sim/state/lanes.h). It executes its work in the order of submission. An
// operation is a place in a lane: it is over when `executed_ns` reaches what `submitted_ns` was
// after it.
//
// Lanes of no group take turns: one time slice each, in a circle, those without work passed over.
// Lanes of one group (the clients of one MPS server) take turns together and run at once, each at
// its cap (active thread percentage) or, when together they want more than there is, at their part.
//
// Time passes only in advance(). What happened is told to a Sink as segments: a lane ran at a rate
// from then to then. The future is predicted by letting a copy go on without new submissions.
// No thread, no clock, no memory of its own: gpu_time.h has it where processes share it.

#include <cstdint>
#include <optional>
#include <span>

#include "sim/state/lanes.h"

namespace tranche::sim {

// Hears what advance() and remove_lane() decide.
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  // `lane` ran from begin to end at `rate`. Adjoining pieces are told one by one.
  virtual void ran(const Lane& lane, std::uint64_t begin_ns, std::uint64_t end_ns) = 0;
  // A whole run at one rate is over.
  virtual void closed(const Segment& segment) = 0;
};

// nullptr when there is no such lane.
Lane* find_lane(Timeline& timeline, std::uint64_t id);
const Lane* find_lane(const Timeline& timeline, std::uint64_t id);

// Lets time pass up to `until_ns` (nothing happens when that is past).
void advance(Timeline& timeline, std::uint64_t until_ns, std::uint64_t slice_ns,
             TimelineSink& sink);
// False when kMaxLanes are there. Only the fields that name and bound it are taken from `lane`.
bool add_lane(Timeline& timeline, const Lane& lane);
// Its work vanishes.
void remove_lane(Timeline& timeline, std::uint64_t id, TimelineSink& sink);

// When `lane` had executed `place` ns. nullopt: it has not yet, or the segments that knew have been
// overwritten. `history` holds the newest segments in no order; `sequence` 0 or one that is too old
// for it is passed over.
std::optional<std::uint64_t> time_of(const Timeline& timeline, std::span<const Segment> history,
                                     const Lane& lane, std::uint64_t place_ns);
// When it will have, if nobody submits more; `horizon_ns` when that is later. Not before now_ns.
std::uint64_t predict(const Timeline& timeline, std::uint64_t lane, std::uint64_t place_ns,
                      std::uint64_t slice_ns, std::uint64_t horizon_ns);

}  // namespace tranche::sim
