#pragma once
// Memory limits of control groups, as the driver keeps them from r615 on: a hard limit on what the
// processes of a control group, and of those below it, hold of one GPU together. They lie in the
// machine's state, and the simulated drivers of the processes obey them.
//
// A process is in a control group when <path>/cgroup.procs, or that of a folder below, lists its
// pid. So any folder may play the control group, and nothing is held in a process that cannot see
// the folder, or its own pid there (another mount or pid namespace). Managed memory is not counted,
// as NVIDIA's documentation says of the real one. Which limits a process is under is looked at
// before the machine's lock is taken.

#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "sim/state/simulation.h"

namespace tranche::sim {

inline constexpr std::uint64_t kNoMemoryLimit = ~std::uint64_t{0};
// Of the driver (major version) that has them first.
inline constexpr unsigned kMemoryLimitsSince = 615;

// Whether the machine's driver has them at all.
bool has_memory_limits(const State& state);

// Sets or, with no soft limit and kNoMemoryLimit, clears. kInvalidArgument: soft above hard, or one
// above the GPU's memory; kNotFound: no such folder; kUnavailable: kMaxMemoryLimits are set.
Result<void> set_memory_limit(const Simulation& sim, std::uint32_t gpu,
                              const std::filesystem::path& cgroup, std::uint64_t soft,
                              std::uint64_t hard);

struct CgroupMemory {
  std::uint64_t soft = 0;
  std::uint64_t hard = kNoMemoryLimit;
  std::uint64_t used = 0;
};
// kNotFound: none is set there, or the folder is gone (the limit is then, too).
Result<CgroupMemory> memory_limit(const Simulation& sim, std::uint32_t gpu,
                                  const std::filesystem::path& cgroup);

// The limits that this process is under on a GPU.
class OwnLimits {
 public:
  // The caller holds no Guard.
  static OwnLimits look(const Simulation& sim, std::uint32_t gpu);

  bool empty() const { return entries_.empty(); }
  // Bytes that may still be taken; kNoMemoryLimit when there is none.
  std::uint64_t room(const Simulation& sim) const;
  // Of the nearest limit; only when not empty.
  CgroupMemory nearest(const Simulation& sim) const;

 private:
  struct Entry {
    std::uint64_t soft;
    std::uint64_t hard;
    std::set<pid_t> members;
  };
  std::uint32_t gpu_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace tranche::sim
