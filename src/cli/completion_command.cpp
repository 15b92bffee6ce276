// tranche completion bash|zsh|fish: see docs/completion.md.

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/command.h"
#include "cli/completion.h"

namespace tranche::cli {
namespace {

constexpr int kCompletionUsage = 2;

constexpr std::string_view kCompletionHelp =
    "Usage: tranche completion bash|zsh|fish\n\n"
    "Prints a script that completes commands, flags and their values.\n\n"
    "  bash  tranche completion bash > /etc/bash_completion.d/tranche\n"
    "        or, in one shell alone: source <(tranche completion bash)\n"
    "  zsh   tranche completion zsh > \"${fpath[1]}/_tranche\"\n"
    "  fish  tranche completion fish > ~/.config/fish/completions/tranche.fish\n";

int refuse_completion(std::string_view what) {
  fmt::print(stderr, "tranche completion: {}\nRun 'tranche completion --help'.\n", what);
  return kCompletionUsage;
}

}  // namespace

int run_completion_command(const Invocation& invocation) {
  const auto arguments = invocation.arguments;
  if (std::ranges::any_of(arguments, [](auto a) { return a == "--help" || a == "-h"; })) {
    fmt::print("{}", kCompletionHelp);
    return 0;
  }
  if (arguments.size() != 1) return refuse_completion("name one shell: bash, zsh or fish");
  const auto script = completion_for(arguments[0], commands());
  if (!script) {
    return refuse_completion(fmt::format("there is no completion for '{}'; write bash, zsh or fish",
                                         arguments[0].substr(0, 80)));
  }
  fmt::print("{}", *script);
  return 0;
}

}  // namespace tranche::cli
