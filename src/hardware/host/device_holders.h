#pragma once
// Finds the processes that have a GPU's device nodes open, by /proc/<pid>/fd. NVML lists only those
// that compute; a monitor, or a program that has merely started NVML, keeps a GPU from being reset
// all the same. A process can open a node under another name, so do not take an empty answer for a
// promise. Processes of others are seen only in their process-id namespace (a Pod's hostPID), and
// their open files only with CAP_SYS_PTRACE, or as root with all rights.

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
  pid_t pid = 0;             // in the namespace of the /proc that was read
  std::string name;          // as in ps
  std::string cgroup;        // host/process.h tells the Pod of it; "": not known
  std::string command = {};  // its words, as in `ps -f`; "": not known
  auto operator<=>(const DeviceHolder&) const = default;
};

struct DeviceHolders {
  std::vector<DeviceHolder> holders;  // by pid
  int unseen = 0;                     // processes whose open files this one may not see
  // False: /proc shows nothing outside of this process's own container.
  bool sees_others = false;
};

// Names of the nodes: "nvidia0"; with the nodes of its MIG instances "nvidia-cap21" too.
std::set<std::string> device_nodes(const gpu::Gpu& gpu);
// Those of one GPU instance alone: "nvidia-cap21"; empty where the driver does not list them.
std::set<std::string> device_nodes(const gpu::Gpu& gpu, int gpu_instance);

// nullopt: the process has ended.
std::optional<DeviceHolder> read_holder(const FsRoot& fs, pid_t pid);

// Who has any node of these names open, `self` left out. An error: /proc cannot be read.
Result<DeviceHolders> device_holders(const FsRoot& fs, const std::set<std::string>& nodes,
                                     pid_t self);

}  // namespace tranche::host
