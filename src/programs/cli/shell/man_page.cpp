#include "cli/shell/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "config/flags/command_line.h"
#include "config/flags/flag_table.h"

namespace tranche::cli {
namespace {

using config::FlagSpec;

// Text for groff to print unchanged: hyphens can be copied, backslashes are no escapes, and no line
// begins with a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '\\':
        out += "\\e";
        break;
      case '-':
        out += "\\-";
        break;
      case '~':
        out += "\\(ti";
        break;
      case '^':
        out += "\\(ha";
        break;
      case '`':
        out += "\\(ga";
        break;
      case '\'':
        out += "\\(aq";
        break;
      default:
        out += c;
    }
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }

std::string head(std::string_view name, std::string_view summary) {
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format(
      ".\\\" Made from the tables of src/programs/cli and src/sharing/config/flags; a test keeps "
      "it so.\n"
      ".TH {} 1 \"\" \"Tranche\" \"Tranche\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
      upper, roff(name), roff(summary));
}

std::string item(std::string_view title, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", title, text);
}

// "Of set and reset alone": the command's words that take the flag, unless all do.
std::string of_words(const FlagSpec& spec, const Command& command) {
  std::vector<std::string> names;
  for (const auto& word : command.words) {
    if ((spec.uses & uses_of(command, &word)) != 0) names.push_back(bold(word.name));
  }
  if (names.empty() || names.size() == command.words.size()) return "";
  return fmt::format("\nOf {}.", fmt::join(names, ", "));
}

std::string flag_item(const FlagSpec& spec, const Command& command) {
  std::vector<std::string> names{bold(fmt::format("--{}", spec.name))};
  for (const auto alias : config::aliases_of(spec, command.uses)) {
    names.push_back(bold(fmt::format("{}{}", alias.size() == 1 ? "-" : "--", alias)));
  }
  const auto value = config::placeholder(spec.type);
  std::string title = fmt::format("{}", fmt::join(names, ", "));
  if (!value.empty()) title += fmt::format(" \\fI{}\\fR", value);
  std::string text = roff(spec.help) + "." + of_words(spec, command);
  if (!spec.default_text.empty()) text += fmt::format("\nDefault: {}.", bold(spec.default_text));
  if (!spec.environment.empty()) {
    std::vector<std::string> variables;
    for (const auto variable : spec.environment) variables.push_back(bold(variable));
    text += fmt::format("\nEnvironment: {}.", fmt::join(variables, ", "));
  }
  if (!spec.field.empty()) text += fmt::format("\nConfiguration file: {}.", bold(spec.field));
  return item(title, text);
}

std::string man_options(const Command& command) {
  std::string text = ".SH OPTIONS\n";
  if (command.uses != 0) {
    text +=
        "A flag wins over its environment variable, that over the configuration file, that over "
        "the default.\n";
  }
  for (const auto& spec : config::flag_table()) {
    if ((spec.uses & command.uses) != 0) text += flag_item(spec, command);
  }
  text += item(bold("--help") + ", " + bold("-h"), "Show the flags.");
  if (command.uses != 0) {
    text += item(bold("--version") + ", " + bold("-v"), "Show the version.");
  }
  return text;
}

// Environment variables without a flag; only the agent has such.
std::string man_environment(const Command& command) {
  if ((command.uses & config::kUseAgent) == 0) return "";
  std::string text = ".SH ENVIRONMENT\nBeside those of the flags:\n";
  for (const auto& variable : config::environment_only()) {
    text += item(bold(variable.name), roff(variable.help) + ".");
  }
  return text;
}

void add_examples(const Command& command, const Word* word, std::string& text) {
  for (const auto& example : examples_of(command, word)) {
    text += fmt::format(".TP\n{}:\n\\fB{}\\fR\n", roff(example.what), roff(example.line));
  }
}

std::string man_examples(const Command& command) {
  std::string text = ".SH EXAMPLES\n";
  add_examples(command, nullptr, text);
  for (const auto& word : command.words) {
    text += fmt::format(".SS {}\n", roff(fmt::format("tranche {} {}", command.name, word.name)));
    add_examples(command, &word, text);
  }
  return text;
}

std::string man_exit_codes() {
  std::string text = ".SH EXIT STATUS\n";
  for (const auto& row : exit_codes()) text += item(bold(row.code), roff(row.meaning) + ".");
  return text +
         "\\fBtranche agent\\fR, and NVIDIA\\(aqs programs, end with 1 for usage, as NVIDIA\\(aqs "
         "do.\n";
}

std::string see_also(std::string_view self, std::span<const Command> commands) {
  std::vector<std::string> pages;
  if (!self.empty()) pages.emplace_back("\\fBtranche\\fR(1)");
  for (const auto& command : commands) {
    if (command.name == self || !has_man_page(command)) continue;
    pages.push_back(fmt::format("{}(1)", bold(fmt::format("tranche-{}", command.name))));
  }
  return fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

}  // namespace

std::string man_overview(std::span<const Command> commands) {
  std::string text = head("tranche", "cut GPUs into tranches that stock Kubernetes schedules");
  text += "\\fBtranche\\fR \\fICOMMAND\\fR [\\fIFLAGS\\fR]\n.SH COMMANDS\n";
  for (const auto& group : groups()) {
    std::string items;
    for (const auto& command : commands) {
      if (!command.listed || command.group != group.group) continue;
      items += item(bold(command.name), roff(command.summary) + ".");
    }
    if (!items.empty()) text += fmt::format(".SS {}\n{}", roff(group.title), items);
  }
  text += item(bold("help") + " [\\fICOMMAND\\fR [\\fIWORD\\fR]]",
               "Show the commands, or what one takes, with examples.");
  text += man_exit_codes();
  text +=
      ".SH OTHER NAMES\nCalled as \\fBnvidia\\-device\\-plugin\\fR, "
      "\\fBgpu\\-feature\\-discovery\\fR, \\fBconfig\\-manager\\fR or "
      "\\fBmps\\-control\\-daemon\\fR it takes\nthat program\\(aqs part, with its flags.\n"
      "Called as \\fBkubectl tranche\\fR (the program \\fBkubectl\\-tranche\\fR) it is the same as "
      "\\fBtranche\\fR.\n";
  return text + see_also("", commands);
}

std::string man_page(const Command& command, std::span<const Command> commands) {
  std::string text = head(fmt::format("tranche-{}", command.name), command.summary);
  text += fmt::format("{} ", bold(fmt::format("tranche {}", command.name)));
  if (!command.usage.empty()) text += fmt::format("{} ", roff(command.usage));
  text += "[\\fIFLAGS\\fR]\n";
  if (!command.words.empty()) {
    text += ".SH COMMANDS\n";
    for (const auto& word : command.words) {
      std::string title = bold(word.name);
      if (!word.arguments.empty()) title += fmt::format(" \\fI{}\\fR", roff(word.arguments));
      text += item(title, roff(word.summary) + ".");
    }
  }
  return text + man_options(command) + man_environment(command) + man_examples(command) +
         man_exit_codes() + see_also(command.name, commands);
}

}  // namespace tranche::cli
