#pragma once
// What /proc says of a process that is not ours: its name, its control group, what is mounted in
// its container. Everything there but the mounts' roots can be chosen by the process itself.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::host {

// A line of /proc/<pid>/mountinfo (proc_pid_mountinfo(5)).
struct Mount {
  std::string device;  // "8:1"
  std::string root;    // in the file system: for a bind mount the folder that is shown
  std::string point;   // where, seen by the process
  bool operator==(const Mount&) const = default;
};

struct ProcessFacts {
  std::string name;              // as in ps, at most 15 characters
  std::uint64_t start_time = 0;  // clock ticks since boot: with the pid it names one process
  std::string cgroup;            // of cgroup v2, else of the v1 hierarchy that names a Pod
  std::vector<Mount> mounts;
};

// kNotFound: it has ended.
Result<ProcessFacts> read_process(const FsRoot& fs, pid_t pid);

// Of the calling process.
std::vector<Mount> own_mounts(const FsRoot& fs);
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Which folder of which file system `path` (absolute, without links) is, by the mounts that lead
// there: the `device` and `root` that a bind mount of it has anywhere. nullopt: no mount leads
// there.
struct Place {
  std::string device;
  std::string root;
  bool operator==(const Place&) const = default;
};
std::optional<Place> place_of(const std::vector<Mount>& mounts, const std::filesystem::path& path);

// Whether a control group is a Pod's, also as seen from another Pod's.
bool is_in_pod(std::string_view cgroup);

// Whose control group it is, by kubelet's and the runtimes' names for them (cgroupfs and systemd
// drivers): ".../pod<uid>/<container>" and
// "...-pod<uid with _ for ->.slice/cri-containerd-<container>.scope".
struct PodProcess {
  std::string pod_uid;
  std::string container;  // the runtime's id, 64 hex digits; "": not told
  bool operator==(const PodProcess&) const = default;
};
// nullopt: not a Pod's, or not to be told which.
std::optional<PodProcess> pod_process(std::string_view cgroup);

}  // namespace tranche::host
