#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/shell/completion.h"
#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

using config::FlagSpec;
using config::FlagType;
using config::PathKind;

std::string fish_quoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "'";
}

// -r: a value follows; -x: a value follows that is not a file.
std::string fish_value(const FlagSpec& spec) {
  if (spec.type == FlagType::kBool) return "";
  if (!spec.choices.empty() && spec.type == FlagType::kStringList) {
    return fmt::format(" -x -a '(__fish_append , {})'", fmt::join(spec.choices, " "));
  }
  if (!spec.choices.empty()) return fmt::format(" -x -a '{}'", fmt::join(spec.choices, " "));
  if (spec.path == PathKind::kFile) return " -r -F";
  if (spec.path == PathKind::kFolder) return " -x -a '(__fish_complete_directories)'";
  return " -x";
}

std::string fish_flag(const FlagSpec& spec, unsigned uses, std::string_view where) {
  std::string spellings = fmt::format(" -l {}", spec.name);
  for (const auto alias : config::aliases_of(spec, uses)) {
    spellings += fmt::format(" -{} {}", alias.size() == 1 ? "s" : "l", alias);
  }
  return fmt::format("complete -c tranche -n '{}'{}{} -d {}\n", where, spellings, fish_value(spec),
                     fish_quoted(spec.help));
}

// "; and __fish_seen_subcommand_from set reset": the words that take the flag, unless all do.
std::string fish_takers(const Command& command, const FlagSpec& spec) {
  std::vector<std::string_view> names;
  for (const auto& word : command.words) {
    if ((spec.uses & uses_of(command, &word)) != 0) names.push_back(word.name);
  }
  if (names.size() == command.words.size()) return "";
  return fmt::format("; and __fish_seen_subcommand_from {}", fmt::join(names, " "));
}

std::string fish_command(const Command& command) {
  const auto here = fmt::format("__fish_seen_subcommand_from {}", command.name);
  std::vector<std::string_view> names;
  for (const auto& word : command.words) names.push_back(word.name);
  std::string text;
  if (command.takes_files) text += fmt::format("complete -c tranche -n '{}' -F\n", here);
  for (const auto& word : command.words) {
    text += fmt::format(
        "complete -c tranche -n '{}; and not __fish_seen_subcommand_from {}' -a {} -d {}\n", here,
        fmt::join(names, " "), word.name, fish_quoted(word.summary));
  }
  for (const auto& spec : config::flag_table()) {
    if ((spec.uses & command.uses) == 0) continue;
    text += fish_flag(spec, command.uses, here + fish_takers(command, spec));
  }
  return text;
}

std::string fish_help(std::span<const Command> commands) {
  const std::string text =
      "complete -c tranche -n __fish_use_subcommand -a help -d 'help for a command, or the list'\n";
  std::vector<std::string_view> names;
  for (const auto& command : commands) {
    if (command.listed) names.push_back(command.name);
  }
  return text + fmt::format(
                    "complete -c tranche -n '__fish_seen_subcommand_from help; and not "
                    "__fish_seen_subcommand_from {0}' -a '{0}'\n",
                    fmt::join(names, " "));
}

}  // namespace

std::string fish_completion(std::span<const Command> commands) {
  std::string text =
      "# fish completion for tranche, made by: tranche completion fish\n\n"
      "complete -c tranche -f\n"
      "complete -c tranche -l help -s h -d 'show the commands, or the flags of one'\n"
      "complete -c tranche -l version -s v -d 'show the version'\n";
  text += fish_help(commands);
  for (const auto& command : commands) {
    if (!command.listed) continue;
    text += fmt::format("complete -c tranche -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        fish_quoted(command.summary));
    text += fish_command(command);
  }
  return text + "\ncomplete -c kubectl-tranche -w tranche\n";
}

}  // namespace tranche::cli
