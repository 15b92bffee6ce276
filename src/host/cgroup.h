#pragma once
// Where the control group (version 2) of a container lies in the tree of them.
//
// /proc/<pid>/cgroup tells it as seen from the reader's own name space, so that from another
// container the path begins with "/.."; and the process may have made groups below its container's.
// The container's own level is the one whose name holds the runtime's id (64 hex digits):
// "cri-containerd-<id>.scope", "crio-<id>.scope", "docker-<id>.scope", or the id alone.

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

// The path down to the container's own level, without "/.." before it and without a slash in front:
// "kubepods/pod1/<id>". Of several levels with an id the first one below the Pod's: what a
// container makes below its own cannot be taken for it. nullopt: the path names no container.
std::optional<std::string> container_level(std::string_view cgroup);

// Whether `root` is a tree of control groups of version 2.
bool is_cgroup_v2(const std::filesystem::path& root);

// The folder below `root` that is the control group of the container in which process `pid` is, the
// one that began at `start_time` (/proc is read through `host`); its cgroup.procs, or one below,
// lists the pid. Looks at no more than kMostFolders folders. kNotFound, saying what was looked for:
// the process has ended, is in no container, or `root` does not show its group.
Result<std::filesystem::path> find_container_cgroup(const FsRoot& host,
                                                    const std::filesystem::path& root, pid_t pid,
                                                    std::uint64_t start_time);
inline constexpr std::size_t kMostFolders = 20'000;

}  // namespace tranche::host
