#pragma once
// Who wants and had the time of one GPU or MIG device: values as stored in the shared state.
// sim/gpu/timeline.h describes how they change.
//
// A lane is one context. Its work is represented by two sums, the nanoseconds submitted and
// executed since the lane began, in nanoseconds of the whole GPU.

#include <cstdint>

namespace tranche::sim {

inline constexpr unsigned kMaxLanes = 256;
inline constexpr std::uint32_t kFullRate = 1000;  // permille of the GPU
inline constexpr std::uint32_t kNoGroup = 0;

struct Lane {
  std::uint64_t id;               // unique on a machine; 0: free
  std::uint64_t submitted_ns;     // never decreases
  std::uint64_t executed_ns;      // never decreases, at most submitted_ns
  std::uint64_t run_begin_ns;     // while it runs: start time at `rate` ...
  std::uint64_t run_executed_ns;  // ... and executed_ns at that time
  std::uint32_t rate;             // permille of the GPU it has; 0: it waits, or has no work
  std::uint32_t cap;              // the most permille it can use, 1 to kFullRate
  std::uint32_t group;            // kNoGroup, or the MPS server
  std::uint32_t process;          // owner: process slot, Use in it, and which holder of the slot
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

// Zeroed memory is an unused GPU.
struct Timeline {
  std::uint64_t now_ns;  // everything before is decided
  std::uint64_t slice_end_ns;
  std::uint64_t segments;  // closed so far
  std::uint32_t turn;      // index of a lane of those whose turn it is
  std::uint32_t lane_count;
  Lane lanes[kMaxLanes];  // in the circle's order
};

}  // namespace tranche::sim
