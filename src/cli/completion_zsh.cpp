#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "cli/completion.h"
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

std::string zsh_command(const Command& command) {
  std::string text = fmt::format("        {})\n          _arguments -S \\\n", command.name);
  for (const auto& spec : config::flag_table()) {
    if ((spec.uses & command.uses) == 0) continue;
    text += fmt::format("            {} \\\n", zsh_flag(spec, spec.name));
    for (const auto alias : spec.aliases) {
      text += fmt::format("            {} \\\n", zsh_flag(spec, alias));
    }
  }
  if (!command.words.empty()) {
    std::vector<std::string> words;
    for (const auto& word : command.words) {
      words.push_back(fmt::format("{}\\:\"{}\"", word.name, zsh_quoted(word.summary)));
    }
    text += fmt::format("            '1:what:(({}))' \\\n", fmt::join(words, " "));
  }
  return text + "            '(- *)--help[show the flags]'\n          ;;\n";
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
      "  _arguments -C '(- *)--help[show the commands]' '(- *)--version[show the version]' \\\n"
      "    '1: :->command' '*:: :->rest'\n"
      "  case $state in\n"
      "    command)\n"
      "      commands=(\n";
  std::string rest;
  for (const auto& command : commands) {
    if (!command.listed) continue;
    text += fmt::format("        '{}:{}'\n", command.name, zsh_quoted(command.summary));
    rest += zsh_command(command);
  }
  text +=
      "        'help:list the commands'\n"
      "      )\n"
      "      _describe -t commands command commands\n"
      "      ;;\n"
      "    rest)\n"
      "      # One dash is as good as two, also before a flag's value.\n"
      "      for ((i = 2; i < CURRENT; i++)); do\n"
      "        if [[ $words[i] == -[a-z][a-z]* ]]; then words[i]=-$words[i]; fi\n"
      "      done\n"
      "      case $words[1] in\n";
  text += rest;
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
