// tranche completion bash|zsh|fish: see docs/helm.md, "The command line".

#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "base/edit_distance.h"
#include "base/exit_code.h"
#include "cli/runs.h"
#include "cli/shell/command.h"
#include "cli/shell/completion.h"
#include "cli/shell/flags_to_sources.h"
#include "cli/shell/help.h"
#include "config/flags/command_line.h"

namespace tranche::cli {
namespace {

std::vector<std::string_view> shells(const Command& command) {
  std::vector<std::string_view> names;
  for (const auto& word : command.words) names.push_back(word.name);
  return names;
}

}  // namespace

int run_completion_command(const Invocation& invocation) {
  const auto parsed = config::parse_words(invocation.arguments, 0);
  if (!parsed) return refuse(invocation, parsed.error().message());
  const auto known = shells(invocation.command);
  const auto& words = parsed->positionals;
  const auto* shell = words.empty() ? nullptr : find_word(invocation.command, words[0]);
  if (parsed->help) {
    fmt::print("{}", help_of(invocation.command, shell, invocation.program));
    return kExitFine;
  }
  if (parsed->version) {
    fmt::print("{}\n", version_line());
    return kExitFine;
  }
  if (words.size() != 1) {
    return refuse(invocation, fmt::format("name one shell: {}", either(known)));
  }
  const auto script = completion_for(words[0], commands());
  if (!script) {
    return refuse(invocation, fmt::format("unknown shell \"{}\"{}", words[0].substr(0, 80),
                                          suggestion(words[0], known, "write " + either(known))));
  }
  fmt::print("{}", *script);
  return kExitFine;
}

}  // namespace tranche::cli
