#include "cli/shell/command_end.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/edit_distance.h"
#include "base/exit_code.h"
#include "cli/shell/help.h"

namespace tranche::cli {

int exit_code_of(const Error& error) {
  switch (error.code) {
    case Code::kInvalidArgument:
      return kExitUsage;
    case Code::kUnavailable:
    case Code::kTimeout:
      return kExitUnreachable;
    default:
      return kExitFinding;
  }
}

int exit_code_of_connecting(const Error& error) {
  return error.code == Code::kInvalidArgument ? kExitUsage : kExitUnreachable;
}

std::optional<int> answer_help(const Invocation& invocation, const config::ParsedArgs& parsed,
                               const Word* word) {
  if (parsed.help) {
    fmt::print("{}", help_of(invocation.command, word, invocation.program));
    return kExitFine;
  }
  if (!parsed.version) return std::nullopt;
  fmt::print("{}\n", version_line());
  return kExitFine;
}

int refuse(const Invocation& invocation, std::string_view what, const Word* word) {
  const auto program = word == nullptr ? std::string(invocation.program)
                                       : fmt::format("{} {}", invocation.program, word->name);
  fmt::print(stderr, "{0}: {1}\nRun '{0} --help' for flags and examples.\n", program, what);
  return kExitUsage;
}

int refuse_word(const Invocation& invocation, std::string_view word) {
  std::vector<std::string_view> names;
  for (const auto& one : invocation.command.words) names.push_back(one.name);
  if (word.empty()) return refuse(invocation, "say what to do: " + either(names));
  return refuse(invocation, fmt::format("unknown command \"{}\"{}", word.substr(0, 80),
                                        suggestion(word, names, "write " + either(names))));
}

}  // namespace tranche::cli
