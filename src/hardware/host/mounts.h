#pragma once
// Mount tables: /proc/<pid>/mountinfo (proc_pid_mountinfo(5)). A table has no size limit, because a
// user can mount a hundred thousand times in their own namespace. So it is read line by line and
// never refused as "too long": that would look like no mounts.

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

// Skips truncated lines.
std::vector<Mount> parse_mounts(std::string_view mountinfo);

// Calls `take` with each mount of `process` ("self", "4711"). kNotFound: it has ended. Any other
// error: it is alive, but its mounts cannot be read.
Result<void> each_mount(const FsRoot& fs, std::string_view process,
                        const std::function<void(const Mount&)>& take);

}  // namespace tranche::host
