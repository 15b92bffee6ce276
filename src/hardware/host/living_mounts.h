#pragma once
// The mounts of all living processes: what a container has mounted is in use, whatever anybody
// else says.

#include <functional>

#include "base/fs.h"
#include "base/result.h"
#include "host/mounts.h"

namespace tranche::host {

// Calls `take` with each mount of each process in `fs`'s /proc. A table of mounts is read line by
// line, because any user can make it long. In a container without the node's process ids
// (`hostPID`) these are the container's own processes alone. Errors: /proc cannot be listed or
// shows no process, or the mounts of a process that lives cannot be read.
Result<void> each_living_mount(const FsRoot& fs, const std::function<void(const Mount&)>& take);

}  // namespace tranche::host
