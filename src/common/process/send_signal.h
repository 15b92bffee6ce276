#pragma once
// Sends a signal to a process identified by its argv[0].

#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::process {

// Sends `signal` to the process with the lowest pid whose argv[0] is exactly `name`, as NVIDIA's
// config-manager does. kNotFound: there is none. `fs`: the root of /proc.
Result<void> send_signal(const FsRoot& fs, const std::string& name, int signal);

}  // namespace tranche::process
