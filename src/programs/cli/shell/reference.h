#pragma once
// The page docs/reference/commands.md: every command with its words, examples and exit codes, made
// from the command table. Pure.

#include <string>

namespace tranche::cli {

std::string reference_commands();

}  // namespace tranche::cli
