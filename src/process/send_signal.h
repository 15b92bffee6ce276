#pragma once
// Finding a process by how it was called, to send it a signal.

#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::process {

// Sends `signal` to the first process (lowest pid) whose argv[0] is exactly `name`, as NVIDIA's
// config-manager matches it. kNotFound when there is none. `fs`: where /proc is read.
Result<void> send_signal(const FsRoot& fs, const std::string& name, int signal);

}  // namespace tranche::process
