#pragma once
// Finds the process that holds a lock on a whole file (flock), from /proc/locks (proc(5)). The
// kernel names the process that took the lock, by its pid in the reader's pid namespace. Processes
// outside that namespace are not in the table.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace tranche::host {

// `device`: the file's file system, as in a mount table ("0:23"). nullopt: the lock is free.
std::optional<pid_t> holder_of(std::string_view locks, std::string_view device, ino_t inode);

}  // namespace tranche::host
