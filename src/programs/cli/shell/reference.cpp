#include "cli/shell/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "cli/shell/command.h"
#include "cli/shell/help.h"

namespace tranche::cli {
namespace {

constexpr std::string_view kHead =
    "# Commands\n\n"
    "<!-- Made from the tables of src/programs/cli; a test keeps it so. -->\n\n"
    "`tranche help COMMAND`, or `--help` after a command or a word of it, has more examples. As a "
    "plugin of kubectl\nthe program is `kubectl tranche`. [Flags](flags.md) has every flag.\n";

std::string exit_code_list() {
  std::string text = "\n## Exit codes\n\n";
  for (const auto& row : exit_codes()) text += fmt::format("- {}: {}\n", row.code, row.meaning);
  return text +
         "\n`tranche agent`, and the binary called as one of NVIDIA's programs, end with 1 where "
         "others end with 2,\nas NVIDIA's do. `tranche-load`, `tranche-sim`, `tranche-demo` and "
         "`tranche-limit-hook` have the same codes.\n";
}

std::string usage_of(const Command& command, const Word* word) {
  auto text = fmt::format("tranche {}", command.name);
  if (word != nullptr) text += fmt::format(" {}", word->name);
  const auto arguments = word == nullptr ? command.usage : word->arguments;
  return text + (arguments.empty() ? "" : fmt::format(" {}", arguments)) + " [flags]";
}

// The first two examples; help and the manual page have all.
std::string two_examples(const Command& command, std::string_view program) {
  std::string text = "\n";
  const auto examples = examples_of(command, nullptr);
  for (const auto& example : std::span(examples).first(std::min<std::size_t>(2, examples.size()))) {
    text += fmt::format("    # {}\n    {}\n", example.what, shown(example, command, program));
  }
  return examples.empty() ? "" : text;
}

// The first one alone, without its words: the line above it says what it does. Nothing where it is
// the command without flags.
std::string first_example(const Command& command, const Word* word, std::string_view program) {
  const auto examples = examples_of(command, word);
  if (examples.empty()) return {};
  const auto line = shown(examples.front(), command, program);
  return usage_of(command, word) == fmt::format("{} [flags]", line)
             ? ""
             : fmt::format("\n    {}\n", line);
}

std::string section(const Command& command) {
  const auto program = fmt::format("tranche {}", command.name);
  const auto head = fmt::format("\n### {}\n\n`{}`: {}.\n", command.name, usage_of(command, nullptr),
                                command.summary);
  if (command.words.empty()) return head + two_examples(command, program);
  std::string words;
  for (const auto& word : command.words) {
    words += fmt::format("\n`{}`: {}.\n", usage_of(command, &word), word.summary);
    words += first_example(command, &word, program);
  }
  const auto own = first_example(command, nullptr, program);
  return head + (words.find(own) == std::string::npos ? own : "") + words;
}

}  // namespace

std::string reference_commands() {
  std::string text(kHead);
  for (const auto& group : groups()) {
    std::string sections;
    for (const auto& command : commands()) {
      if (command.listed && command.group == group.group) sections += section(command);
    }
    if (!sections.empty()) text += fmt::format("\n## {}\n{}", group.title, sections);
  }
  text += "\n## Called by NVIDIA's names\n\nWith the flags and exit codes of NVIDIA's programs:\n";
  for (const auto& part : parts()) {
    text += fmt::format("\n`{}`: {}.\n{}", part.name, part.summary,
                        first_example(part, nullptr, part.name));
  }
  return text + exit_code_list();
}

}  // namespace tranche::cli
