#pragma once
// `tranche lint`: see docs/lint.md.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
int run_lint_command(const Invocation& invocation);

}  // namespace tranche::cli
