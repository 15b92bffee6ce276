#pragma once
// Reads from /proc about a process that is not ours: its name, its control group, and the mounts of
// its container. A process can choose all of these itself, except the roots of the mounts: do not
// trust them.

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
  std::uint64_t start_time = 0;  // clock ticks since boot; pid and start time name one process
  // Of cgroup v2, else of the v1 hierarchy that names a Pod; "": it is in none, or has just ended.
  // An error: the process lives, and its group is not known.
  Result<std::string> cgroup;
  // Without those whose mount point is longer than 512 bytes; empty: the process is ending. An
  // error: it lives, and they are not known.
  Result<std::vector<Mount>> mounts;
};

// kNotFound: the process has ended. Any other error: it lives, and nothing of it can be read.
Result<ProcessFacts> read_process(const FsRoot& fs, pid_t pid);
// The control group alone, as in ProcessFacts. kNotFound: the process has ended. Any other error:
// its group cannot be read, though it lives.
Result<std::string> read_cgroup(const FsRoot& fs, pid_t pid);

// Parses /proc/<pid>/cgroup: lines "<number>:<controllers>:<path>", number 0 is cgroup v2. "": it
// names none.
std::string parse_cgroup(std::string_view text);

// The mounts of the calling process; empty when they cannot be read.
std::vector<Mount> own_mounts(const FsRoot& fs);

// The file system that holds `path` (absolute, without links), and the folder within it. Every bind
// mount of `path`, in any container, has this `device` and `root`. nullopt: no mount leads to
// `path`.
struct Place {
  std::string device;
  std::string root;
  bool operator==(const Place&) const = default;
};
std::optional<Place> place_of(const std::vector<Mount>& mounts, const std::filesystem::path& path);

// Whether a control group is a Pod's; understands a path as seen from another Pod's namespace too.
bool is_in_pod(std::string_view cgroup);

// The Pod and the container of a control group, read from the names that kubelet and the runtimes
// give them. cgroupfs driver: ".../pod<uid>/<container>". systemd driver:
// "...-pod<uid with _ for ->.slice/cri-containerd-<container>.scope".
struct PodProcess {
  std::string pod_uid;
  std::string container;  // the runtime's id, 64 hex digits; "": the path names none
  bool operator==(const PodProcess&) const = default;
};
// nullopt: the group is not a Pod's, or the path does not say which Pod's.
std::optional<PodProcess> pod_process(std::string_view cgroup);

}  // namespace tranche::host
