#pragma once
// nvidia-cuda-mps-control without -d: passes the commands on its standard input to the daemon.

#include <string>
#include <vector>

namespace tranche::sim::mps {

// Processes lines of standard input until its end, or until `quit`: responses on standard output,
// refusals on standard error. Returns the exit code: 0, or 1 if there is no daemon or something was
// refused.
int run_commands();
// The same with a single command.
int run_command(const std::string& command);

}  // namespace tranche::sim::mps
