#pragma once
// Memory limits of control groups, as enforced by the driver from r615 on: a hard limit on how
// much of one GPU the processes of a control group, and of those below it, hold together. They are
// in the machine's state, and the simulated drivers of the processes obey them.
//
// A process is in a control group if <path>/cgroup.procs, or that of a folder below, lists its
// pid. So any folder may act as the control group, and no limit applies to a process that cannot
// see the folder, or its own pid there (another mount or pid namespace). Managed memory is not
// counted, as documented by NVIDIA. The limits of a process are determined before the machine's
// lock is taken.

#include <cstdint>
#include <filesystem>
#include <set>
#include <vector>

#include "sim/state/simulation.h"

namespace tranche::sim {

inline constexpr std::uint64_t kNoMemoryLimit = ~std::uint64_t{0};
// The first driver (major version) that has them.
inline constexpr unsigned kMemoryLimitsSince = 615;

// Whether the machine's driver supports them at all.
bool has_memory_limits(const State& state);

// Sets them or, with no soft limit and kNoMemoryLimit, clears them. kInvalidArgument: soft above
// hard, or one above the GPU's memory; kNotFound: no such folder; kUnavailable: kMaxMemoryLimits
// are set.
Result<void> set_memory_limit(const Simulation& sim, std::uint32_t gpu,
                              const std::filesystem::path& cgroup, std::uint64_t soft,
                              std::uint64_t hard);

struct CgroupMemory {
  std::uint64_t soft = 0;
  std::uint64_t hard = kNoMemoryLimit;
  std::uint64_t used = 0;
};
// kNotFound: none is set there, or the folder is gone (and the limit with it).
Result<CgroupMemory> memory_limit(const Simulation& sim, std::uint32_t gpu,
                                  const std::filesystem::path& cgroup);

// The limits on this process on a GPU.
class OwnLimits {
 public:
  // The caller must not hold a Guard.
  static OwnLimits look(const Simulation& sim, std::uint32_t gpu);

  bool empty() const { return entries_.empty(); }
  // Bytes that may still be taken; kNoMemoryLimit if unlimited.
  std::uint64_t room(const Simulation& sim) const;
  // The group of the nearest limit; only if not empty.
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
