#pragma once
// `tranche limit`: see docs/limits.md.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
int run_limit_command(const Invocation& invocation);

}  // namespace tranche::cli
