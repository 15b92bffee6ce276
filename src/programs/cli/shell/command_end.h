#pragma once
// How commands begin and end alike: help, a command line that is wrong, exit codes.

#include <optional>
#include <string_view>

#include "base/result.h"
#include "cli/shell/command.h"
#include "config/flags/command_line.h"

namespace tranche::cli {

// The exit code that an error of the work stands for.
int exit_code_of(const Error& error);
// Of an error of choosing a cluster: a kubeconfig or context that does not exist is a usage error,
// any other means that the API server cannot be reached.
int exit_code_of_connecting(const Error& error);

// Prints help or the version, where these were asked for. nullopt: they were not.
std::optional<int> answer_help(const Invocation& invocation, const config::ParsedArgs& parsed,
                               const Word* word);
// Says what is wrong with the command line, and where its help is. Returns the exit code.
int refuse(const Invocation& invocation, std::string_view what, const Word* word = nullptr);
// Says that `word` is none of the command's, "": that one is missing. Returns the exit code.
int refuse_word(const Invocation& invocation, std::string_view word);

}  // namespace tranche::cli
