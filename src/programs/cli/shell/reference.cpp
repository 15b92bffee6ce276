#include "cli/shell/reference.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cli/shell/command.h"
#include "cli/shell/help.h"

namespace tranche::cli {
namespace {

constexpr std::string_view kHead =
    "# Commands\n\n"
    "<!-- Made from the tables of src/programs/cli. -->\n\n"
    "`tranche help COMMAND`, or `--help` after a command or a word of it, has more examples, and "
    "says what they do. As a\nplugin of kubectl the program is `kubectl tranche`. Each takes "
    "[flags](flags.md).\n";

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
  return text + (arguments.empty() ? "" : fmt::format(" {}", arguments));
}

// The first `count` examples, without their words, which help and the manual page have. The bare
// command, which stands above them, is none.
std::vector<std::string> lines_of(const Command& command, const Word* word,
                                  std::string_view program, std::size_t count) {
  std::vector<std::string> lines;
  for (const auto& example : examples_of(command, word)) {
    if (count-- == 0) break;
    lines.push_back(shown(example, command, program));
  }
  std::erase(lines, usage_of(command, word));
  return lines;
}

std::string block(const std::vector<std::string>& lines) {
  std::string text = lines.empty() ? "" : "\n";
  for (const auto& line : lines) text += fmt::format("    {}\n", line);
  return text;
}

std::string section(const Command& command) {
  const auto program = fmt::format("tranche {}", command.name);
  const auto head = fmt::format("\n### {}\n\n`{}`: {}.\n", command.name, usage_of(command, nullptr),
                                command.summary);
  if (command.words.empty()) return head + block(lines_of(command, nullptr, program, 2));
  std::string words;
  for (const auto& word : command.words) {
    words += fmt::format("\n`{}`: {}.\n", usage_of(command, &word), word.summary);
    words += block(lines_of(command, &word, program, 1));
  }
  auto own = lines_of(command, nullptr, program, 1);
  std::erase_if(own, [&](const std::string& line) {  // a word has it
    return words.contains(fmt::format("    {}\n", line)) ||
           words.contains(fmt::format("`{}`", line));
  });
  return head + block(own) + words;
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
                        block(lines_of(part, nullptr, part.name, 1)));
  }
  return text + exit_code_list();
}

}  // namespace tranche::cli
