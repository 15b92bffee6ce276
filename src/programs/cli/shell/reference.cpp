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
    "`tranche help COMMAND`, or `--help` after a command or a word of it, says the same in a "
    "terminal. As a\nplugin of kubectl the program is `kubectl tranche`. [Flags](flags.md) has "
    "every flag.\n";

std::string exit_code_table() {
  std::string text = "\n## Exit codes\n\n| code | says |\n|---|---|\n";
  for (const auto& row : exit_codes()) text += fmt::format("| {} | {} |\n", row.code, row.meaning);
  return text +
         "\n`tranche agent`, and the binary called as one of NVIDIA's programs, end with 1 where "
         "others end with 2,\nas NVIDIA's do. `tranche-load`, `tranche-sim`, `tranche-demo` and "
         "`tranche-limit-hook` have the same codes.\n";
}

// Without what `said` has already.
std::string lines_of(const Command& command, const Word* word, std::string_view program,
                     std::string_view said = {}) {
  std::string text;
  for (const auto& example : examples_of(command, word)) {
    const auto lines =
        fmt::format("    # {}\n    {}\n", example.what, shown(example, command, program));
    if (said.find(lines) == std::string_view::npos) text += (text.empty() ? "\n" : "") + lines;
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
  std::string words;
  for (const auto& word : command.words) {
    words += fmt::format("\n`{}`: {}.\n", usage_of(command, &word), word.summary);
    words += lines_of(command, &word, program);
  }
  return fmt::format("\n### {}\n\n`{}`: {}.\n{}{}", command.name, usage_of(command, nullptr),
                     command.summary, lines_of(command, nullptr, program, words), words);
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
    text +=
        fmt::format("\n`{}`: {}.\n{}", part.name, part.summary, lines_of(part, nullptr, part.name));
  }
  return text + exit_code_table();
}

}  // namespace tranche::cli
