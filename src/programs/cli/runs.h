#pragma once
// What each command of the table does: one function each.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
using Run = int (*)(const Invocation&);
// nullptr: nobody wrote it.
Run run_of(const Command& command);

// In files of these names; those that are more than a file have rooms of their own.
int run_agent_command(const Invocation& invocation);
int run_arbiter_command(const Invocation& invocation);
int run_cleanup_command(const Invocation& invocation);
int run_completion_command(const Invocation& invocation);
int run_config_manager_command(const Invocation& invocation);
int run_controller_command(const Invocation& invocation);
int run_labels_command(const Invocation& invocation);
int run_mps_control_command(const Invocation& invocation);
int run_reference_command(const Invocation& invocation);
int run_version_command(const Invocation& invocation);

}  // namespace tranche::cli
