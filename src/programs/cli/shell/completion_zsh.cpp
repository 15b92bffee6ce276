#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/shell/completion.h"
#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

using config::FlagSpec;
using config::FlagType;
using config::PathKind;

// Text for use inside single quotes. Characters that _arguments and _describe interpret are
// escaped.
std::string zsh_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

// The action of _arguments for the flag's value.
std::string zsh_action(const FlagSpec& spec) {
  if (!spec.choices.empty() && spec.type == FlagType::kStringList) {
    return fmt::format("{{_values -s , {} {}}}", spec.name, fmt::join(spec.choices, " "));
  }
  if (!spec.choices.empty()) return fmt::format("({})", fmt::join(spec.choices, " "));
  if (spec.path == PathKind::kFile) return "_files";
  if (spec.path == PathKind::kFolder) return "_files -/";
  return " ";
}

std::string zsh_flag(const FlagSpec& spec, std::string_view name) {
  const bool repeats = spec.type == FlagType::kStringList || spec.type == FlagType::kIntList;
  const bool one_letter = name.size() == 1;
  const auto flag = fmt::format("{}{}", one_letter ? "-" : "--", name);
  const auto help = zsh_quoted(spec.help);
  if (spec.type == FlagType::kBool) return fmt::format("'{}[{}]'", flag, help);
  return fmt::format("'{}{}{}[{}]:{}:{}'", repeats ? "*" : "", flag, one_letter ? "" : "=", help,
                     spec.name, zsh_action(spec));
}

std::string zsh_words(const Command& command) {
  std::vector<std::string> words;
  for (const auto& word : command.words) {
    words.push_back(fmt::format("{}\\:\"{}\"", word.name, zsh_quoted(word.summary)));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// The call of _arguments for the flags of the command or of one of its words.
std::string zsh_arguments(const Command& command, unsigned uses, std::string_view indent) {
  std::string text = fmt::format("{}_arguments -S \\\n", indent);
  std::vector<std::string_view> names;
  for (const auto& spec : config::flag_table()) {
    if ((spec.uses & uses) == 0 || std::ranges::find(names, spec.name) != names.end()) continue;
    names.push_back(spec.name);
    text += fmt::format("{}  {} \\\n", indent, zsh_flag(spec, spec.name));
    for (const auto alias : config::aliases_of(spec, uses)) {
      text += fmt::format("{}  {} \\\n", indent, zsh_flag(spec, alias));
    }
  }
  if (!command.words.empty()) {
    text += fmt::format("{}  '1:what:(({}))' \\\n", indent, zsh_words(command));
  }
  if (command.takes_files) text += fmt::format("{}  '*:file:_files' \\\n", indent);
  if (uses != 0) {
    text += fmt::format("{}  '(- *)--version[show the version]' \\\n", indent);
  }
  return text + fmt::format("{}  '(- *)--help[show the flags]'\n", indent);
}

std::string zsh_command(const Command& command) {
  std::string text = fmt::format("        {})\n", command.name);
  const bool own_flags =
      std::ranges::any_of(command.words, [](const Word& word) { return word.uses != 0; });
  if (!own_flags) {
    return text + zsh_arguments(command, command.uses, "          ") + "          ;;\n";
  }
  std::vector<std::string_view> names;
  for (const auto& word : command.words) names.push_back(word.name);
  text += fmt::format("          case ${{words[(r)({})]}} in\n", fmt::join(names, "|"));
  for (const auto& word : command.words) {
    text += fmt::format("            {})\n{}              ;;\n", word.name,
                        zsh_arguments(command, uses_of(command, &word), "              "));
  }
  text += fmt::format("            *)\n{}              ;;\n",
                      zsh_arguments(command, command.uses, "              "));
  return text + "          esac\n          ;;\n";
}

std::string zsh_help(std::span<const Command> commands) {
  std::string cases;
  for (const auto& command : commands) {
    if (!command.listed || command.words.empty()) continue;
    cases += fmt::format("            {}) _arguments '2:what:(({}))' ;;\n", command.name,
                         zsh_words(command));
  }
  return fmt::format(
      "        help)\n"
      "          if (( CURRENT == 2 )); then\n"
      "            _describe -t commands command commands\n"
      "            return\n"
      "          fi\n"
      "          case $words[2] in\n{}"
      "          esac\n"
      "          ;;\n",
      cases);
}

}  // namespace

std::string zsh_completion(std::span<const Command> commands) {
  std::string text =
      "#compdef tranche kubectl-tranche\n"
      "# zsh completion for tranche, made by: tranche completion zsh\n\n"
      "_tranche() {\n"
      "  local curcontext=\"$curcontext\" state line\n"
      "  local -a commands\n"
      "  local -i i\n"
      "  commands=(\n";
  std::string rest;
  for (const auto& command : commands) {
    if (!command.listed) continue;
    text += fmt::format("    '{}:{}'\n", command.name, zsh_quoted(command.summary));
    rest += zsh_command(command);
  }
  text +=
      "  )\n"
      "  _arguments -C '(- *)--help[show the commands]' '(- *)--version[show the version]' \\\n"
      "    '1: :->command' '*:: :->rest'\n"
      "  case $state in\n"
      "    command)\n"
      "      commands+=('help:list the commands, or help for one')\n"
      "      _describe -t commands command commands\n"
      "      ;;\n"
      "    rest)\n"
      "      # One dash is as good as two, also before a flag's value.\n"
      "      for ((i = 2; i < CURRENT; i++)); do\n"
      "        if [[ $words[i] == -[a-z][a-z]* ]]; then words[i]=-$words[i]; fi\n"
      "      done\n"
      "      case $words[1] in\n";
  text += rest + zsh_help(commands);
  text +=
      "      esac\n"
      "      ;;\n"
      "  esac\n"
      "}\n\n"
      "# Read by `source` it is registered, found in $fpath it is called.\n"
      "if [ \"$funcstack[1]\" = \"_tranche\" ]; then\n"
      "  _tranche \"$@\"\n"
      "else\n"
      "  compdef _tranche tranche kubectl-tranche\n"
      "fi\n";
  return text;
}

}  // namespace tranche::cli
