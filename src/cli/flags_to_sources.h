#pragma once
// What every command with NVIDIA's flags begins with: argv to config::Sources, --help and
// --version.

#include <optional>
#include <variant>

#include "cli/command.h"
#include "config/flags/sources.h"

namespace tranche::cli {

// The sources, or the exit code of a command that is done already (help printed, usage error).
std::variant<config::Sources, int> flags_to_sources(const Invocation& invocation, unsigned uses,
                                                    config::Program program);

}  // namespace tranche::cli
