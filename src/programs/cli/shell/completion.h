#pragma once
// Scripts that complete `tranche` in a shell: its commands, their words, their flags, and the
// values of flags as far as the tables know them (the names of an enumeration, a file, a folder).
// They are made from the command table (command.h) and the flag tables (config/flags). They ask
// nothing of a cluster. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/shell/command.h"

namespace tranche::cli {

std::string bash_completion(std::span<const Command> commands);
std::string zsh_completion(std::span<const Command> commands);
std::string fish_completion(std::span<const Command> commands);

// The script for a shell by its name; nullopt: none of the three.
std::optional<std::string> completion_for(std::string_view shell,
                                          std::span<const Command> commands);

}  // namespace tranche::cli
