#pragma once
// The settings of `tranche arbiter`, from flags and environment. Pure.

#include <chrono>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "config/flags/sources.h"

namespace tranche::config {

struct ArbiterOptions {
  std::string tenants = "/var/lib/tranche/tenants";
  std::string state_dir = "/run/tranche-arbiter";
  std::string container_driver_root = "/driver-root";
  std::string host_root = "/";                 // under which /proc is read
  std::string cgroup_root = "/sys/fs/cgroup";  // the node's cgroup v2 tree
  std::string mps_dir = "/mps";                // folder of the MPS control daemons, as mounted here
  // Before a wait or a launch is an incident; 0: never.
  std::chrono::nanoseconds stall_after = std::chrono::seconds(10);
  bool check = false;  // probe the running arbiter and exit
  LogLevel log_level = LogLevel::kInfo;
  bool operator==(const ArbiterOptions&) const = default;
};

// kInvalidArgument with every error, one per line.
Result<ArbiterOptions> load_arbiter_options(const Sources& sources);

}  // namespace tranche::config
