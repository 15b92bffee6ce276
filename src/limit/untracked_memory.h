#pragma once
// What a tenant holds of a device beyond what its processes say: contexts, modules, memory of
// processes that never registered, and what was not told. From NVML's count and the slots.
//
// NVML is read between two looks at the slots, and what a process charged and gave back meanwhile
// may be in its count or not. So a reading is an interval: NVML's count less the larger and less
// the smaller charge. And both looks may have missed a charge that came and went, or memory that
// was freed and taken again; so the value moves no further than two readings in a row agree on.
// Where it does not agree with the last one yet another reading is wanted soon (settled()). What is
// counted and never charged is found by the second reading, whatever its process does to its slot;
// what an honest process does between two looks is forgotten by the second one.
//
// Not thread-safe; pure.

#include <cstdint>
#include <optional>
#include <span>

namespace tranche::limit {

// One process on one device, bytes.
struct Held {
  std::uint64_t counted = 0;         // by NVML
  std::uint64_t charged_before = 0;  // its slot before NVML was read
  std::uint64_t charged_after = 0;   // and after
};

class UntrackedMemory {
 public:
  // `bytes`: as an earlier arbiter left it.
  explicit UntrackedMemory(std::uint64_t bytes = 0) : bytes_(bytes) {}

  // A reading: the tenant's processes that NVML counts. The first one counts at once. Returns
  // bytes().
  std::uint64_t take(std::span<const Held> processes);
  std::uint64_t bytes() const { return bytes_; }
  // Whether the last reading agrees with bytes().
  bool settled() const;

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
