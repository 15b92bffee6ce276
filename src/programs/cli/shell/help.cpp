#include "cli/shell/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/edit_distance.h"
#include "base/exit_code.h"
#include "config/flags/command_line.h"
#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

// The arguments before the flags: "POD", "set|get|reset POD | list | prune".
std::string_view arguments_of(const Command& command, const Word* word) {
  return word == nullptr ? command.usage : word->arguments;
}

std::string sentence(std::string_view summary) {
  std::string text(summary);
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  }
  return text + ".";
}

bool has_flags_of_words(const Command& command) {
  return std::ranges::any_of(command.words, [](const Word& word) { return word.uses != 0; });
}

std::string words_help(const Command& command) {
  std::string text = "\nCommands:\n";
  std::size_t width = 0;
  for (const auto& word : command.words) width = std::max(width, word.name.size());
  for (const auto& word : command.words) {
    text += fmt::format("  {:<{}}  {}\n", word.name, width, word.summary);
  }
  return text;
}

std::string examples_help(const Command& command, const Word* word, std::string_view program) {
  std::string text;
  for (const auto& example : examples_of(command, word)) {
    text += fmt::format("{}  # {}\n  {}\n", text.empty() ? "\nExamples:\n" : "\n", example.what,
                        shown(example, command, program));
  }
  return text;
}

std::string flags_of(const Command& command, const Word* word) {
  const auto uses = uses_of(command, word);
  const bool of_all = word == nullptr && has_flags_of_words(command);
  std::string text = of_all ? "\nFlags of all of them:\n" : "\nFlags:\n";
  if (uses == 0) return text + "  --help, -h\n        show this text\n";
  return text + config::flags_help(uses);
}

// The precedence of flags and other sources; empty if there are no others.
std::string precedence(unsigned uses) {
  bool file = false;
  bool environment = false;
  for (const auto& spec : config::flag_table()) {
    if (uses == 0 || (spec.uses & uses) != uses) continue;
    file = file || !spec.field.empty();
    environment = environment || !spec.environment.empty();
  }
  if (!environment) return "";
  return fmt::format("\nA flag wins over its environment variable ($){}.\n",
                     file ? ", that over the configuration file" : "");
}

int unknown(std::string_view where, std::string_view word, std::span<const std::string_view> known,
            std::string_view otherwise) {
  fmt::print(stderr, "{}: unknown command \"{}\"{}\n", where, word.substr(0, 80),
             suggestion(word, known, otherwise));
  return kExitUsage;
}

}  // namespace

std::string shown(const Example& example, const Command& command, std::string_view program) {
  std::string own = fmt::format("tranche {}", command.name);
  if (example.line.find(own) == std::string_view::npos) own = command.name;
  std::string text(example.line);
  const auto at = text.find(own);
  return at == std::string::npos ? text : text.replace(at, own.size(), program);
}

std::string suggestion(std::string_view word, std::span<const std::string_view> known,
                       std::string_view otherwise) {
  if (const auto near = nearest(word, known)) return fmt::format("; did you mean \"{}\"?", *near);
  return fmt::format("; {}", otherwise);
}

std::string command_help(std::span<const Command> commands, std::string_view root) {
  std::string text = fmt::format(
      "{0} cuts GPUs into tranches that stock Kubernetes schedules.\n\nUsage: {0} COMMAND "
      "[flags]\n",
      root);
  for (const auto& group : groups()) {
    std::string lines;
    for (const auto& command : commands) {
      if (!command.listed || command.group != group.group) continue;
      lines += fmt::format("  {:<18} {}\n", command.name, command.summary);
    }
    if (!lines.empty()) text += fmt::format("\n{}:\n{}", group.title, lines);
  }
  text += fmt::format(
      "\n'{0} help COMMAND' or '{0} COMMAND --help' tells a command's flags, with examples.\n"
      "Called as nvidia-device-plugin, gpu-feature-discovery, config-manager or\n"
      "mps-control-daemon it takes that program's part, with its flags.\n\nExit codes:\n",
      root);
  for (const auto& row : exit_codes()) text += fmt::format("  {}  {}\n", row.code, row.meaning);
  text += fmt::format(
      "\n'{} agent', and NVIDIA's programs, end with 1 for usage, as NVIDIA's do.\n", root);
  return text;
}

std::string help_of(const Command& command, const Word* word, std::string_view program) {
  std::string text = fmt::format("Usage: {}", program);
  if (word != nullptr) text += fmt::format(" {}", word->name);
  const auto arguments = arguments_of(command, word);
  if (!arguments.empty()) text += fmt::format(" {}", arguments);
  text += fmt::format(" [flags]\n\n{}\n", sentence(word ? word->summary : command.summary));
  if (word == nullptr && !command.words.empty()) text += words_help(command);
  text += examples_help(command, word, program);
  text += flags_of(command, word);
  text += precedence(uses_of(command, word));
  if (word == nullptr && has_flags_of_words(command)) {
    text += fmt::format("\n'{} COMMAND --help' tells the other flags of each.\n", program);
  }
  return text;
}

int run_help(std::span<const std::string_view> words, std::string_view root) {
  if (words.empty()) {
    fmt::print("{}", command_help(commands(), root));
    return kExitFine;
  }
  const auto* command = find_command(commands(), words[0]);
  const bool is_part = command == nullptr;
  if (is_part) command = find_command(parts(), words[0]);
  if (command == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& one : commands()) names.push_back(one.name);
    for (const auto& one : parts()) names.push_back(one.name);
    return unknown(fmt::format("{} help", root), words[0], names,
                   fmt::format("'{} help' lists the commands", root));
  }
  const auto program =
      is_part ? std::string(command->name) : fmt::format("{} {}", root, command->name);
  const auto* word = words.size() > 1 ? find_word(*command, words[1]) : nullptr;
  if (words.size() > 1 && word == nullptr) {
    std::vector<std::string_view> names;
    for (const auto& one : command->words) names.push_back(one.name);
    return unknown(fmt::format("{} help {}", root, words[0]), words[1], names,
                   fmt::format("'{} help {}' tells what there is", root, words[0]));
  }
  fmt::print("{}", help_of(*command, word, program));
  return kExitFine;
}

}  // namespace tranche::cli
