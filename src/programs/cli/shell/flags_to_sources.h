#pragma once
// The first step of most commands: reads argv into config::Sources, and answers --help and
// --version.

#include <variant>

#include "cli/shell/command.h"
#include "cli/shell/command_end.h"
#include "config/flags/sources.h"

namespace tranche::cli {

// Returns the sources, or the exit code if the command is done: it printed help, or the arguments
// are invalid. `word`: the command's word before the flags.
std::variant<config::Sources, int> flags_to_sources(const Invocation& invocation,
                                                    config::Program program,
                                                    const Word* word = nullptr);

}  // namespace tranche::cli
