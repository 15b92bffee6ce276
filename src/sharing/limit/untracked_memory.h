#pragma once
// A tenant's untracked memory on a device: what it holds beyond its processes' charges. This
// includes contexts, modules, memory of processes that never registered, and uncharged memory. It
// is computed from NVML's count and the slots.
//
// NVML is read between two readings of the slots. Memory that a process charged or freed meanwhile
// may or may not be in NVML's count. So a reading is an interval: NVML's count less the larger
// charge, and less the smaller charge. Both readings of the slots may also have missed a charge
// that came and went, or memory that was freed and allocated again. So the value moves only as far
// as two consecutive readings agree. If the value does not agree with the last reading, another
// reading should follow soon (settled()). The second reading finds memory that NVML counts and no
// slot charges, whatever the process does to its slot. It also discards what an honest process does
// between two readings.
//
// Not thread-safe; pure.

#include <cstdint>
#include <optional>
#include <span>

namespace tranche::limit {

// One process on one device, bytes.
struct Held {
  std::uint64_t counted = 0;         // by NVML
  std::uint64_t charged_before = 0;  // in its slot, before NVML was read
  std::uint64_t charged_after = 0;   // in its slot, after NVML was read
};

class UntrackedMemory {
 public:
  // `bytes`: the value left by a previous arbiter.
  explicit UntrackedMemory(std::uint64_t bytes = 0) : bytes_(bytes) {}

  // Adds a reading: the tenant's processes that NVML counts. The first reading counts at once.
  // Returns bytes().
  std::uint64_t take(std::span<const Held> processes);
  std::uint64_t bytes() const { return bytes_; }
  // Whether the last reading agrees with bytes().
  bool settled() const;
  // Whether the last reading is exact and equals bytes(): what was held when it began is in there.
  bool is_certain() const;

 private:
  struct Interval {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
  };
  static Interval read(std::span<const Held> processes);

  std::uint64_t bytes_;
  std::optional<Interval> last_{};
};

}  // namespace tranche::limit
