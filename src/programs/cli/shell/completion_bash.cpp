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

// bash 3.2, as on macOS, has neither mapfile nor compopt.
constexpr std::string_view kBashFunction = R"sh(
# Whether a value follows the flag $2 of the command $1.
_tranche_takes_value() {
  [ -n "$(_tranche_value "$1" "$2")" ]
}

_tranche() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev="" command=${COMP_WORDS[1]} kind words word first i
  COMPREPLY=()
  if [ "$COMP_CWORD" -gt 0 ]; then prev=${COMP_WORDS[COMP_CWORD-1]}; fi
  # bash takes --flag=value apart: "--flag", "=", "value".
  if [ "$cur" = "=" ]; then
    cur=""
  elif [ "$prev" = "=" ] && [ "$COMP_CWORD" -gt 1 ]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [ "$COMP_CWORD" -le 1 ]; then
    COMPREPLY=($(compgen -W "$(_tranche_commands)" -- "$cur"))
    return
  fi
  if [ "$command" = help ]; then
    words=$(_tranche_commands)
    if [ "$COMP_CWORD" -gt 2 ]; then words=$(_tranche_words "${COMP_WORDS[2]}"); fi
    if [ "$COMP_CWORD" -gt 3 ]; then words=""; fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    return
  fi
  words=$(_tranche_words "$command")
  for ((i = 2; i < COMP_CWORD; i++)); do
    for word in $words; do
      if [ "${COMP_WORDS[i]}" = "$word" ]; then
        words=""
        command="$command $word"
      fi
    done
  done
  if [ "${prev#-}" != "$prev" ] && _tranche_takes_value "$command" "$prev"; then
    kind=$(_tranche_value "$command" "$prev")
    words=${kind#* }
    case ${kind%% *} in
      choice) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
      list)
        first=""
        if [ "${cur%,*}" != "$cur" ]; then first=${cur%,*},; fi
        COMPREPLY=($(compgen -P "$first" -W "$words" -- "${cur##*,}"))
        ;;
      file | folder)
        local IFS=$'\n'
        if [ "$kind" = folder ]; then
          COMPREPLY=($(compgen -d -- "$cur"))
        else
          COMPREPLY=($(compgen -f -- "$cur"))
        fi
        compopt -o filenames 2> /dev/null
        ;;
    esac
    return
  fi
  if [ -z "$words" ] && [ "${cur#-}" = "$cur" ] && [ -n "$(_tranche_files "$command")" ]; then
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$cur"))
    compopt -o filenames 2> /dev/null
    return
  fi
  if [ -z "$words" ] || [ "${cur#-}" != "$cur" ]; then words=$(_tranche_flags "$command"); fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}

complete -F _tranche tranche kubectl-tranche
)sh";

std::string bash_dashed(std::string_view name) {
  return fmt::format("{}{}", name.size() == 1 ? "-" : "--", name);
}

std::vector<std::string> bash_spellings(const FlagSpec& spec, unsigned uses) {
  std::vector<std::string> names{bash_dashed(spec.name)};
  for (const auto alias : config::aliases_of(spec, uses)) names.push_back(bash_dashed(alias));
  return names;
}

// The output of `_tranche_value` for a flag: the kind of its value, and the names to choose from.
// Empty: a switch.
std::string bash_value(const FlagSpec& spec) {
  if (spec.type == FlagType::kBool) return "";
  if (!spec.choices.empty()) {
    return fmt::format("{} {}", spec.type == FlagType::kStringList ? "list" : "choice",
                       fmt::join(spec.choices, " "));
  }
  if (spec.path == PathKind::kFile) return "file";
  return spec.path == PathKind::kFolder ? "folder" : "anything";
}

// A shell function with one case for each command, with `text(command)` as its body.
template <class Text>
std::string bash_function(std::string_view name, std::span<const Command> commands, Text text) {
  std::string body = fmt::format("\n{}() {{\n  case $1 in\n", name);
  for (const auto& command : commands) {
    const std::string words = text(command);
    if (command.listed && !words.empty()) {
      body += fmt::format("    {}) echo \"{}\" ;;\n", command.name, words);
    }
  }
  return body + "  esac\n}\n";
}

std::string bash_flags(unsigned uses) {
  std::vector<std::string> names;
  for (const auto& spec : config::flag_table()) {
    if ((spec.uses & uses) == 0) continue;
    for (auto& name : bash_spellings(spec, uses)) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  names.emplace_back("--help");
  if (uses != 0) names.emplace_back("--version");
  return fmt::format("{}", fmt::join(names, " "));
}

// One case for each command, and one for each of its words.
std::string bash_all_flags(std::span<const Command> commands) {
  std::string body = "\n_tranche_flags() {\n  case $1 in\n";
  for (const auto& command : commands) {
    if (!command.listed) continue;
    body += fmt::format("    {}) echo \"{}\" ;;\n", command.name, bash_flags(command.uses));
    for (const auto& word : command.words) {
      body += fmt::format("    \"{} {}\") echo \"{}\" ;;\n", command.name, word.name,
                          bash_flags(uses_of(command, &word)));
    }
  }
  return body + "  esac\n}\n";
}

std::string bash_words(const Command& command) {
  std::vector<std::string_view> names;
  for (const auto& word : command.words) names.push_back(word.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// `name`: of the command, with its word.
std::string bash_values_of(std::string_view name, unsigned uses) {
  std::string text;
  for (const auto& spec : config::flag_table()) {
    const auto value = bash_value(spec);
    if ((spec.uses & uses) == 0 || value.empty()) continue;
    std::vector<std::string> patterns;
    for (const auto& flag : bash_spellings(spec, uses)) {
      patterns.push_back(fmt::format("\"{} {}\"", name, flag));
      // Flags also work with one dash.
      if (flag.starts_with("--")) {
        patterns.push_back(fmt::format("\"{} {}\"", name, flag.substr(1)));
      }
    }
    text += fmt::format("    {}) echo \"{}\" ;;\n", fmt::join(patterns, " | "), value);
  }
  return text;
}

// The same flag may have other values with another word.
std::string bash_values(std::span<const Command> commands) {
  std::string text = "\n_tranche_value() {\n  case \"$1 $2\" in\n";
  for (const auto& command : commands) {
    if (!command.listed) continue;
    text += bash_values_of(command.name, command.uses);
    for (const auto& word : command.words) {
      text +=
          bash_values_of(fmt::format("{} {}", command.name, word.name), uses_of(command, &word));
    }
  }
  return text + "  esac\n}\n";
}

}  // namespace

std::string bash_completion(std::span<const Command> commands) {
  std::vector<std::string_view> names;
  for (const auto& command : commands) {
    if (command.listed) names.push_back(command.name);
  }
  std::string text = "# bash completion for tranche, made by: tranche completion bash\n";
  text += fmt::format("\n_tranche_commands() {{\n  echo \"{} help --help --version\"\n}}\n",
                      fmt::join(names, " "));
  text += bash_function("_tranche_words", commands, bash_words);
  text += bash_function("_tranche_files", commands, [](const Command& command) {
    return std::string(command.takes_files ? "files" : "");
  });
  text += bash_all_flags(commands);
  text += bash_values(commands);
  text += kBashFunction;
  return text;
}

}  // namespace tranche::cli
