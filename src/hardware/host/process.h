#pragma once
// Reads facts about another process from /proc: its name, its control group, and the mounts of its
// container. The process can choose all of these except the roots of the mounts: do not trust
// them.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"
#include "host/mounts.h"

namespace tranche::host {

struct ProcessFacts {
  std::string name;  // as in ps, at most 15 characters
  pid_t parent = 0;
  std::uint64_t start_time = 0;  // clock ticks since boot; pid and start time identify one process
  // The cgroup v2 path, or else the v1 hierarchy that names a Pod; "": none, or it has just ended.
  // An error: the process is alive, but its cgroup is unknown.
  Result<std::string> cgroup;
  // Excludes mount points longer than 512 bytes; empty: the process is exiting. An error: it is
  // alive, but its mounts are unknown.
  Result<std::vector<Mount>> mounts;
};

// kNotFound: the process has ended. Any other error: it is alive, but nothing about it can be read.
Result<ProcessFacts> read_process(const FsRoot& fs, pid_t pid);
// Only the cgroup, as in ProcessFacts. kNotFound: the process has ended. Any other error: it is
// alive, but its cgroup cannot be read.
Result<std::string> read_cgroup(const FsRoot& fs, pid_t pid);

// Parses /proc/<pid>/cgroup: lines "<number>:<controllers>:<path>", number 0 is cgroup v2. "":
// none.
std::string parse_cgroup(std::string_view text);

// The mounts of the calling process; empty when they cannot be read.
std::vector<Mount> own_mounts(const FsRoot& fs);

// The file system that holds `path` (absolute, without links), and the folder within it. Every bind
// mount of `path`, in any container, has this `device` and `root`. nullopt: no mount contains
// `path`.
struct Place {
  std::string device;
  std::string root;
  bool operator==(const Place&) const = default;
};
std::optional<Place> place_of(const std::vector<Mount>& mounts, const std::filesystem::path& path);

// Whether a control group belongs to a Pod; also understands a path as seen from another Pod's
// namespace.
bool is_in_pod(std::string_view cgroup);

// The Pod and container of a control group, from the names that kubelet and the runtimes give them.
// cgroupfs driver: ".../pod<uid>/<container>". systemd driver:
// "...-pod<uid with _ for ->.slice/cri-containerd-<container>.scope".
struct PodProcess {
  std::string pod_uid;
  std::string container;  // the runtime's id, 64 hex digits; "": the path names none
  bool operator==(const PodProcess&) const = default;
};
// nullopt: the group does not belong to a Pod, or the path does not identify it.
std::optional<PodProcess> pod_process(std::string_view cgroup);

}  // namespace tranche::host
