#include "cli/flags_to_sources.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/exit_code.h"
#include "cli/help.h"
#include "config/flags/command_line.h"

namespace tranche::cli {

int refuse(const Invocation& invocation, std::string_view what, const Word* word) {
  const auto program = word == nullptr ? std::string(invocation.program)
                                       : fmt::format("{} {}", invocation.program, word->name);
  fmt::print(stderr, "{0}: {1}\nRun '{0} --help' for flags and examples.\n", program, what);
  return kExitUsage;
}

std::variant<config::Sources, int> flags_to_sources(const Invocation& invocation,
                                                    config::Program program, const Word* word) {
  const auto uses = uses_of(invocation.command, word);
  const auto parsed = config::parse_arguments(invocation.arguments, uses);
  if (!parsed) return refuse(invocation, parsed.error().message(), word);
  if (parsed->help) {
    fmt::print("{}", help_of(invocation.command, word, invocation.program));
    return kExitFine;
  }
  if (parsed->version) {
    fmt::print("{}\n", version_line());
    return kExitFine;
  }
  if (!parsed->positionals.empty()) {
    return refuse(invocation, fmt::format("unexpected argument '{}'", parsed->positionals[0]),
                  word);
  }
  config::Sources sources;
  sources.program = program;
  sources.flags = parsed->flags;
  sources.environment = invocation.environment;
  return sources;
}

}  // namespace tranche::cli
