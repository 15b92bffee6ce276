#pragma once
// Shell scripts that complete `tranche`: commands, words, flags, and values as far as the tables
// know them (the names of an enumeration, a file, a folder). They are made from the command table
// (command.h) and the flag tables (config/flags), and ask no cluster. Pure.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/shell/command.h"

namespace tranche::cli {

std::string bash_completion(std::span<const Command> commands);
std::string zsh_completion(std::span<const Command> commands);
std::string fish_completion(std::span<const Command> commands);

// The script for a shell by its name; nullopt: not one of the three.
std::optional<std::string> completion_for(std::string_view shell,
                                          std::span<const Command> commands);

}  // namespace tranche::cli
