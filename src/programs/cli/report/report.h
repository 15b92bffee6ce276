#pragma once
// `tranche report`: see docs/report.md.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
int run_report_command(const Invocation& invocation);

}  // namespace tranche::cli
