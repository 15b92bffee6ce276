#pragma once
// Who wants the time of one GPU or MIG device, and who had it: values as they lie in the shared
// state. How they change says sim/gpu/timeline.h.
//
// A lane is one context. All that is known of its work is two sums, the nanoseconds submitted and
// executed since the lane began, measured in nanoseconds of the whole GPU.

#include <cstdint>

namespace tranche::sim {

inline constexpr unsigned kMaxLanes = 256;
inline constexpr std::uint32_t kFullRate = 1000;  // permille of the GPU
inline constexpr std::uint32_t kNoGroup = 0;

struct Lane {
  std::uint64_t id;               // given once on a machine; 0: nobody
  std::uint64_t submitted_ns;     // never falls
  std::uint64_t executed_ns;      // never falls, at most submitted_ns
  std::uint64_t run_begin_ns;     // while it runs: since when at `rate` ...
  std::uint64_t run_executed_ns;  // ... and executed_ns at that time
  std::uint32_t rate;             // permille of the GPU it has; 0: waits, or has no work
  std::uint32_t cap;              // permille it can use at most, 1 to kFullRate
  std::uint32_t group;            // kNoGroup, or the MPS server
  std::uint32_t process;          // whose: process slot, Use in it, and which holder of the slot
  std::uint64_t holder;
  std::uint32_t use;
  std::uint32_t reserved;

  bool has_work() const { return executed_ns < submitted_ns; }
};

struct Segment {
  std::uint64_t sequence;  // 1, 2, ...
  std::uint64_t lane;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t executed_ns;  // at begin_ns
  std::uint32_t rate;
  std::uint32_t reserved;
};

// Zeroed memory is a GPU that nobody uses.
struct Timeline {
  std::uint64_t now_ns;  // everything before is decided
  std::uint64_t slice_end_ns;
  std::uint64_t segments;  // closed so far
  std::uint32_t turn;      // index of a lane of those whose turn it is
  std::uint32_t lane_count;
  Lane lanes[kMaxLanes];  // in the circle's order
};

}  // namespace tranche::sim
