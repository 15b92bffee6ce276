#pragma once
// Tables of mounts: /proc/<pid>/mountinfo (proc_pid_mountinfo(5)). A table may be of any length,
// because a user can mount a hundred thousand times in a namespace of their own. So it is read line
// by line, and never "too long": that would read as no mounts.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::host {

struct Mount {
  std::string device;  // "8:1"
  std::string root;    // the mounted folder within its file system; "/" unless it is a bind mount
  std::string point;   // the mount point, as the process sees it
  bool operator==(const Mount&) const = default;
};

// Torn lines are left out.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Calls `take` with each mount of `process` ("self", "4711"). kNotFound: it has ended. Any other
// error: its mounts cannot be read, though it lives.
Result<void> each_mount(const FsRoot& fs, std::string_view process,
                        const std::function<void(const Mount&)>& take);

}  // namespace tranche::host
