#pragma once
// Finds the control group (version 2) of a container in the cgroup tree.
//
// /proc/<pid>/cgroup shows the path relative to the reader's cgroup namespace, so a reader in
// another container sees a path that begins with "/..". The process may also be in a group that its
// container made below its own. The container's own level is the one whose name holds the runtime's
// id (64 hex digits): "cri-containerd-<id>.scope", "crio-<id>.scope", "docker-<id>.scope", or the
// id alone.

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::host {

inline constexpr std::string_view kCgroupRoot = "/sys/fs/cgroup";

// The path down to the container's own level, without "/.." parts and without a leading slash:
// "kubepods/pod1/<id>". If several levels hold an id, the first one below the Pod's level counts,
// so a group that the container created below its own is not mistaken for it. nullopt: the path
// names no container.
std::optional<std::string> container_level(std::string_view cgroup);

// Identifies the container of a process: the same for all its processes, including those in
// subgroups. nullopt: the group does not belong to a Pod.
std::optional<std::string> container_of(std::string_view cgroup);

// Whether `root` is a cgroup v2 tree.
bool is_cgroup_v2(const std::filesystem::path& root);

// The folder below `root` that is the cgroup of process `pid`'s container. /proc is read through
// `host`; the process must have started at `start_time`. The cgroup.procs of the folder, or of a
// folder below it, must list the pid. Examines at most kMostFolders folders. kNotFound, with
// what was searched: the process has ended, it is in no container, or `root` does not show its
// cgroup.
Result<std::filesystem::path> find_container_cgroup(const FsRoot& host,
                                                    const std::filesystem::path& root, pid_t pid,
                                                    std::uint64_t start_time);
inline constexpr std::size_t kMostFolders = 20'000;

}  // namespace tranche::host
