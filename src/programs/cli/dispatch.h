#pragma once
// Finds and runs the command of a command line.

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tranche::cli {

// Runs the command that argv names: by argv[0] if that is the name of one of NVIDIA's programs,
// else by the first argument. Returns the exit code: 2 for a usage error.
int dispatch(std::span<const std::string_view> argv,
             std::map<std::string, std::string> environment);

}  // namespace tranche::cli
