#include "cli/shell/complete.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

using config::FlagSpec;
using config::FlagType;
using config::PathKind;
using Given = std::span<const std::string_view>;

void offer(Completions& completions, std::string_view written, std::string text,
           std::string_view what = {}) {
  if (text.starts_with(written)) completions.candidates.push_back({std::move(text), what});
}

std::string dashes(std::string_view name) {
  return fmt::format("{}{}", name.size() == 1 ? "-" : "--", name);
}

// A flag without its dashes and its value; nullopt: the word is not a flag.
std::optional<std::string_view> flag_name(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return std::nullopt;
  word.remove_prefix(word[1] == '-' ? 2 : 1);
  return word.substr(0, word.find('='));
}

Completions commands_for(std::span<const Command> commands, std::string_view written) {
  Completions completions;
  for (const auto& command : commands) {
    if (command.listed) offer(completions, written, std::string(command.name), command.summary);
  }
  offer(completions, written, "help", "list the commands, or help for one");
  return completions;
}

Completions words_for(const Command& command, std::string_view written) {
  Completions completions;
  for (const auto& word : command.words) {
    offer(completions, written, std::string(word.name), word.summary);
  }
  return completions;
}

// `before`: the part of the written word before the value ("--output=").
Completions values_for(const FlagSpec& spec, std::string_view before, std::string_view written) {
  Completions completions;
  if (spec.path == PathKind::kFile) completions.directive = Directive::kFiles;
  if (spec.path == PathKind::kFolder) completions.directive = Directive::kFolders;
  std::string start(before);
  if (spec.type == FlagType::kStringList) {
    const auto value = written.substr(before.size());
    const auto comma = value.rfind(',');
    if (comma != std::string_view::npos) start += value.substr(0, comma + 1);
  }
  for (const auto choice : spec.choices) {
    offer(completions, written, fmt::format("{}{}", start, choice));
  }
  return completions;
}

Completions flags_for(unsigned uses, std::string_view written) {
  Completions completions;
  for (const auto& spec : config::flag_table()) {
    if ((spec.uses & uses) == 0) continue;
    offer(completions, written, dashes(spec.name), spec.help);
    for (const auto alias : config::aliases_of(spec, uses)) {
      offer(completions, written, dashes(alias), spec.help);
    }
  }
  offer(completions, written, "--help", "show usage, examples and flags");
  return completions;
}

// The command's word among the given ones; nullptr: none yet.
const Word* word_among(const Command& command, Given given) {
  for (const auto one : given) {
    if (const auto* word = find_word(command, one)) return word;
  }
  return nullptr;
}

Completions complete_command(const Command& command, Given given, std::string_view written) {
  const auto* word = word_among(command, given);
  const auto uses = uses_of(command, word);
  const auto before = given.empty() ? std::nullopt : flag_name(given.back());
  if (before && given.back().find('=') == std::string_view::npos) {
    const auto* spec = config::find_flag(*before, uses);
    if (spec != nullptr && spec->type != FlagType::kBool) return values_for(*spec, "", written);
  }
  if (const auto equals = written.find('='); equals != std::string_view::npos) {
    const auto name = flag_name(written);
    const auto* spec = name ? config::find_flag(*name, uses) : nullptr;
    return spec ? values_for(*spec, written.substr(0, equals + 1), written) : Completions();
  }
  if (written.starts_with('-')) return flags_for(uses, written);
  return word == nullptr ? words_for(command, written) : Completions();
}

}  // namespace

Completions complete(std::span<const Command> commands, Given words) {
  const auto written = words.empty() ? std::string_view() : words.back();
  if (words.size() <= 1) return commands_for(commands, written);
  if (words[0] == "help" && words.size() == 2) return commands_for(commands, written);
  const bool help = words[0] == "help";
  const auto* command = find_command(commands, words[help ? 1 : 0]);
  if (command == nullptr || !command->listed) return {};
  if (help) return words.size() == 3 ? words_for(*command, written) : Completions();
  return complete_command(*command, words.subspan(1, words.size() - 2), written);
}

std::string to_text(const Completions& completions) {
  std::string text;
  for (const auto& one : completions.candidates) {
    text += one.what.empty() ? one.text + "\n" : fmt::format("{}\t{}\n", one.text, one.what);
  }
  return text + fmt::format(":{}\n", static_cast<int>(completions.directive));
}

}  // namespace tranche::cli
