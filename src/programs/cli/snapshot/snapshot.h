#pragma once
// `tranche snapshot`: see docs/snapshot.md.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
int run_snapshot_command(const Invocation& invocation);

}  // namespace tranche::cli
