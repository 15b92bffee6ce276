#pragma once
// A file that a command line names, "-" being standard input.

#include <cstddef>
#include <string>

#include "base/result.h"

namespace tranche::cli {

// kInvalidArgument: it cannot be read, or is longer than `longest` bytes.
Result<std::string> input_text(const std::string& path, std::size_t longest);

}  // namespace tranche::cli
