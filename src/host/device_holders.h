#pragma once
// Finds the processes that have a GPU's device nodes open, by /proc/<pid>/fd. NVML lists only those
// that compute; a monitor, or a program that has merely started NVML, keeps a GPU from being reset
// all the same. A process can open a node under another name, so do not take an empty answer for a
// promise.

#include <sys/types.h>

#include <compare>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "gpu/machine.h"

namespace tranche::host {

struct DeviceHolder {
  pid_t pid = 0;       // in the namespace of the /proc that was read
  std::string name;    // as in ps
  std::string cgroup;  // host/process.h tells the Pod of it; "": none, or not known
  auto operator<=>(const DeviceHolder&) const = default;
};

struct DeviceHolders {
  std::vector<DeviceHolder> holders;  // by pid
  // Processes whose open files this process may not see (it needs root, and the host's /proc).
  int unseen = 0;
};

// Names of the nodes: "nvidia0"; with the nodes of its MIG instances "nvidia-cap21" too.
std::set<std::string> device_nodes(const gpu::Gpu& gpu);

// Who has any node of these names open, `self` left out. An error: /proc cannot be read.
Result<DeviceHolders> device_holders(const FsRoot& fs, const std::set<std::string>& nodes,
                                     pid_t self);

// "python (pid 4711), dcgm (pid 12) and 3 more"
std::string describe(const DeviceHolders& holders, std::size_t most = 5);

}  // namespace tranche::host
