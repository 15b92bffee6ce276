#include "cli/shell/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/shell/command.h"
#include "cli/shell/help.h"

namespace tranche::cli {
namespace {

constexpr std::string_view kHead =
    "# Commands\n\n"
    "<!-- Made from the tables of src/programs/cli; a test keeps it so. -->\n\n"
    "`tranche help COMMAND`, or `--help` after a command or a word of it, has more examples. As a "
    "plugin of kubectl\nthe program is `kubectl tranche`. [Flags](flags.md) has every flag.\n";

std::string exit_code_table() {
  std::string text = "\n## Exit codes\n\n| code | says |\n|---|---|\n";
  for (const auto& row : exit_codes()) text += fmt::format("| {} | {} |\n", row.code, row.meaning);
  return text +
         "\n`tranche agent`, and the binary called as one of NVIDIA's programs, end with 1 where "
         "others end with 2,\nas NVIDIA's do. `tranche-load`, `tranche-sim`, `tranche-demo` and "
         "`tranche-limit-hook` have the same codes.\n";
}

// The first `count` examples; help and the manual page have all.
std::string lines_of(const Command& command, const Word* word, std::string_view program,
                     std::size_t count) {
  std::string text;
  for (const auto& example : examples_of(command, word)) {
    if (count-- == 0) break;
    text += fmt::format("{}    # {}\n    {}\n", text.empty() ? "\n" : "", example.what,
                        shown(example, command, program));
  }
  return text;
}

std::string usage_of(const Command& command, const Word* word) {
  auto text = fmt::format("tranche {}", command.name);
  if (word != nullptr) text += fmt::format(" {}", word->name);
  const auto arguments = word == nullptr ? command.usage : word->arguments;
  return text + (arguments.empty() ? "" : fmt::format(" {}", arguments)) + " [flags]";
}

std::string section(const Command& command) {
  const auto program = fmt::format("tranche {}", command.name);
  const auto head = fmt::format("\n### {}\n\n`{}`: {}.\n", command.name, usage_of(command, nullptr),
                                command.summary);
  if (command.words.empty()) return head + lines_of(command, nullptr, program, 2);
  std::string words;
  for (const auto& word : command.words) {
    words += fmt::format("\n`{}`: {}.\n", usage_of(command, &word), word.summary);
    words += lines_of(command, &word, program, 1);
  }
  const auto own = lines_of(command, nullptr, program, 1);
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
                        lines_of(part, nullptr, part.name, 1));
  }
  return text + exit_code_table();
}

}  // namespace tranche::cli
