#pragma once
// Which command a command line asks for.

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace tranche::cli {

// Runs what argv asks for: by argv[0] when that is the name of one of NVIDIA's programs, else by
// the first argument. Returns the exit code: 2 for a usage error.
int dispatch(std::span<const std::string_view> argv,
             std::map<std::string, std::string> environment);

}  // namespace tranche::cli
