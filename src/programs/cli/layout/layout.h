#pragma once
// `tranche layout`: see docs/mig.md.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
int run_layout_command(const Invocation& invocation);

}  // namespace tranche::cli
