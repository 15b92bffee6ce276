#pragma once
// What commands do in the same way: help, an invalid command line, exit codes.

#include <optional>
#include <string_view>

#include "base/result.h"
#include "cli/shell/command.h"
#include "config/flags/command_line.h"

namespace tranche::cli {

// The exit code for an error of a command's work.
int exit_code_of(const Error& error);
// The exit code for an error of choosing a cluster: a missing kubeconfig or context is a usage
// error, any other means that the API server cannot be reached.
int exit_code_of_connecting(const Error& error);

// Prints help or the version if requested. nullopt: not requested.
std::optional<int> answer_help(const Invocation& invocation, const config::ParsedArgs& parsed,
                               const Word* word);
// Prints what is wrong with the command line, and where its help is. Returns the exit code.
int refuse(const Invocation& invocation, std::string_view what, const Word* word = nullptr);
// Prints that `word` is not one of the command's; "": that it is missing. Returns the exit code.
int refuse_word(const Invocation& invocation, std::string_view word);

}  // namespace tranche::cli
