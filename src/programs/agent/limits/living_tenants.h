#pragma once
// Which tenants have a living process: from the mounts of processes in /proc, and from the arbiter.
// An agent without the node's process ids (`hostPID`) sees no container's mounts. The arbiter has
// them, and its registered processes are in living containers.
//
// Used by one thread.

#include <filesystem>
#include <set>
#include <string>

#include "agent/limits/living_arbiter.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

class LivingTenants {
 public:
  // `host`: for /proc. `arbiter_dir`: the arbiter's --state-dir; empty: none is known here. `clock`
  // outlives it.
  LivingTenants(FsRoot host, const std::filesystem::path& arbiter_dir, const Clock& clock);

  // The names from mounted_names(), and tenants with a process that is registered or should be (a
  // finding). An arbiter that does not run, or whose status cannot be read, adds none. Errors: as
  // mounted_names().
  Result<std::set<std::string>> names();

 private:
  FsRoot host_;
  LivingArbiter arbiter_;
};

}  // namespace tranche::agent
