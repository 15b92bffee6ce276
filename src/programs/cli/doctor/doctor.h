#pragma once
// `tranche doctor`: see docs/doctor.md.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
int run_doctor_command(const Invocation& invocation);

}  // namespace tranche::cli
