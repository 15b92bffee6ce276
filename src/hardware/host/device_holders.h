#pragma once
// Finds the processes that have a GPU's device nodes open, from /proc/<pid>/fd. NVML lists only
// those that compute, but a monitor, or a program that merely initialised NVML, also prevents a GPU
// reset. A process can open a node under another name, so an empty answer is no guarantee. Other
// processes are visible only in their pid namespace (a Pod's hostPID), and their open files only
// with CAP_SYS_PTRACE, or as fully privileged root.

#include <sys/types.h>

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "gpu/machine.h"

namespace tranche::host {

struct DeviceHolder {
  pid_t pid = 0;             // in the pid namespace of that /proc
  std::string name;          // as in ps
  std::string cgroup;        // host/process.h maps it to the Pod; "": unknown
  std::string command = {};  // its arguments, as in `ps -f`; "": unknown
  auto operator<=>(const DeviceHolder&) const = default;
};

struct DeviceHolders {
  std::vector<DeviceHolder> holders;  // sorted by pid
  int unseen = 0;                     // processes whose open files this process may not see
  // False: /proc shows only this process's own container.
  bool sees_others = false;
};

// Names of the nodes: "nvidia0"; also the nodes of its MIG instances: "nvidia-cap21".
std::set<std::string> device_nodes(const gpu::Gpu& gpu);
// The nodes of one GPU instance only: "nvidia-cap21"; empty if the driver does not list them.
std::set<std::string> device_nodes(const gpu::Gpu& gpu, int gpu_instance);

// nullopt: the process has ended.
std::optional<DeviceHolder> read_holder(const FsRoot& fs, pid_t pid);

// All processes that have any of these nodes open, except `self`. An error: /proc cannot be read.
Result<DeviceHolders> device_holders(const FsRoot& fs, const std::set<std::string>& nodes,
                                     pid_t self);

}  // namespace tranche::host
