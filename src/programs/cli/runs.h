#pragma once
// The function that runs each command of the table.

#include "cli/shell/command.h"

namespace tranche::cli {

// Returns the exit code.
using Run = int (*)(const Invocation&);
// nullptr: there is none.
Run run_of(const Command& command);

// Each is in a file of its name; larger commands have their own rooms.
int run_agent_command(const Invocation& invocation);
int run_arbiter_command(const Invocation& invocation);
int run_cleanup_command(const Invocation& invocation);
int run_completion_command(const Invocation& invocation);
int run_config_manager_command(const Invocation& invocation);
int run_controller_command(const Invocation& invocation);
int run_labels_command(const Invocation& invocation);
int run_mps_control_command(const Invocation& invocation);
int run_reference_command(const Invocation& invocation);
int run_top_command(const Invocation& invocation);
int run_version_command(const Invocation& invocation);

}  // namespace tranche::cli
