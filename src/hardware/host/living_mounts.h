#pragma once
// The mounts of all running processes: whatever a container has mounted is in use, regardless of
// other records.

#include <functional>

#include "base/fs.h"
#include "base/result.h"
#include "host/mounts.h"

namespace tranche::host {

// Calls `take` with each mount of each process in `fs`'s /proc. A mount table is read line by line,
// because any user can make it long. In a container without the node's pids (`hostPID`) it only
// covers the container's own processes. Errors: /proc cannot be listed or shows no process, or the
// mounts of a live process cannot be read.
Result<void> each_living_mount(const FsRoot& fs, const std::function<void(const Mount&)>& take);

}  // namespace tranche::host
