#pragma once
// The texts of `tranche help`, and of --help after a command or word. Pure, except for
// print_help().

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/shell/command.h"

namespace tranche::cli {

// The commands, group by group. `root`: the program's name, "tranche" or "kubectl tranche".
std::string command_help(std::span<const Command> commands, std::string_view root = "tranche");

// Usage, purpose, words, examples and flags of a command (`word`: nullptr) or word. `program`: its
// name as called: "tranche limit", "nvidia-device-plugin".
std::string help_of(const Command& command, const Word* word, std::string_view program);

// The example's line with `program` in place of the command's own name.
std::string shown(const Example& example, const Command& command, std::string_view program);

// "; did you mean "agent"?", or `otherwise` if no known word is near.
std::string suggestion(std::string_view word, std::span<const std::string_view> known,
                       std::string_view otherwise);

// `tranche help WORDS`. Returns the exit code: 2 for unknown words.
int run_help(std::span<const std::string_view> words, std::string_view root);

}  // namespace tranche::cli
