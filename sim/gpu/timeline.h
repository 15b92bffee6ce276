#pragma once
// How contexts share the time of one GPU (or one MIG device): a pure model on plain values.
//
// A lane is one context (sim/state/lanes.h). It executes its work in the order of submission. An
// operation is a place in a lane: it is over when `executed_ns` reaches the value of `submitted_ns`
// right after it.
//
// Lanes without a group take turns: one time slice each, in a circle, skipping those without work.
// Lanes of one group (the clients of one MPS server) take turns together and run concurrently, each
// at its cap (active thread percentage) or, if together they want more than there is, at their
// part.
//
// Time passes only in advance(). A Sink receives what happened as segments: a lane ran at a rate
// during an interval. The future is predicted by letting a copy continue without new submissions.
// No thread, no clock, no memory of its own: gpu_time.h keeps it where processes share it.

#include <cstdint>
#include <optional>
#include <span>

#include "sim/state/lanes.h"

namespace tranche::sim {

// Receives the decisions of advance() and remove_lane().
class TimelineSink {
 public:
  virtual ~TimelineSink() = default;
  // `lane` ran from begin to end at `rate`. Adjoining pieces are reported one by one.
  virtual void ran(const Lane& lane, std::uint64_t begin_ns, std::uint64_t end_ns) = 0;
  // A whole run at one rate has ended.
  virtual void closed(const Segment& segment) = 0;
};

// nullptr if there is no such lane.
Lane* find_lane(Timeline& timeline, std::uint64_t id);
const Lane* find_lane(const Timeline& timeline, std::uint64_t id);

// Advances time to `until_ns` (does nothing if that is past).
void advance(Timeline& timeline, std::uint64_t until_ns, std::uint64_t slice_ns,
             TimelineSink& sink);
// False if there are kMaxLanes. Only the identifying and limiting fields of `lane` are used.
bool add_lane(Timeline& timeline, const Lane& lane);
// Its work is discarded.
void remove_lane(Timeline& timeline, std::uint64_t id, TimelineSink& sink);

// When `lane` had executed `place` ns. nullopt: not yet, or the relevant segments have been
// overwritten. `history` contains the newest segments in any order; `sequence` 0 and outdated ones
// are skipped.
std::optional<std::uint64_t> time_of(const Timeline& timeline, std::span<const Segment> history,
                                     const Lane& lane, std::uint64_t place_ns);
// When it will have, without further submissions; `horizon_ns` if that is later. Not before now_ns.
std::uint64_t predict(const Timeline& timeline, std::uint64_t lane, std::uint64_t place_ns,
                      std::uint64_t slice_ns, std::uint64_t horizon_ns);

}  // namespace tranche::sim
