#pragma once
// The first step of most commands: reads argv into config::Sources, and answers --help and
// --version.

#include <optional>
#include <variant>

#include "cli/command.h"
#include "config/flags/sources.h"

namespace tranche::cli {

// Returns the sources, or the exit code if the command has nothing left to do: it printed help, or
// the arguments are wrong.
std::variant<config::Sources, int> flags_to_sources(const Invocation& invocation, unsigned uses,
                                                    config::Program program);

}  // namespace tranche::cli
