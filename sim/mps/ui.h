#pragma once
// nvidia-cuda-mps-control without -d: hands the commands on its standard input to the daemon.

#include <string>
#include <vector>

namespace tranche::sim::mps {

// Lines of standard input until its end, or until `quit`: answers on standard output, what is
// refused on standard error. The exit code: 0, or 1 when there is no daemon or something was
// refused.
int run_commands();
// The same with this one.
int run_command(const std::string& command);

}  // namespace tranche::sim::mps
