#pragma once
// Who holds a lock on a whole file (flock), by /proc/locks (proc(5)). The kernel names the process
// that took the lock, by the pid that the reader of the table sees. Whoever is in a name space of
// pids that the reader does not see is not in the table.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace tranche::host {

// `device`: of the file's file system, as in a table of mounts ("0:23"). nullopt: nobody holds it.
std::optional<pid_t> holder_of(std::string_view locks, std::string_view device, ino_t inode);

}  // namespace tranche::host
