#include "config/programs/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "config/file/fields.h"
#include "config/flags/flag_table.h"

namespace tranche::config {
namespace {

constexpr std::string_view kNote =
    "<!-- Made from the tables of src/sharing/config/flags and src/sharing/config/file; a test "
    "keeps it so. "
    "-->\n\n";

std::string code(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("`{}`", text);
}

std::string code_list(std::span<const std::string_view> texts) {
  std::vector<std::string> quoted;
  for (const auto text : texts) quoted.push_back(code(text));
  return fmt::format("{}", fmt::join(quoted, ", "));
}

std::string_view type_name(FlagType type) {
  switch (type) {
    case FlagType::kBool:
      return "bool";
    case FlagType::kInt:
      return "int";
    case FlagType::kFloat:
      return "number";
    case FlagType::kIntList:
      return "list of ints";
    case FlagType::kStringList:
      return "string or list of strings";
    case FlagType::kDuration:
      return "duration";
    case FlagType::kString:
      break;
  }
  return "string";
}

std::string spellings(const FlagSpec& spec, unsigned uses) {
  std::vector<std::string> names{fmt::format("`--{}`", spec.name)};
  for (const auto alias : aliases_of(spec, uses)) {
    names.push_back(fmt::format("`{}{}`", alias.size() == 1 ? "-" : "--", alias));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string flags_of(const FlagProgram& program) {
  const bool is_verb = program.name.find(' ') != std::string_view::npos;
  std::string text = fmt::format(
      "\n{} {}\n\nOf {}.\n\n"
      "| flag | environment | file | type | default | what |\n|---|---|---|---|---|---|\n",
      is_verb ? "###" : "##", program.title, program.names);
  for (const auto& spec : flag_table()) {
    if ((spec.uses & program.use) == 0) continue;
    text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", spellings(spec, program.use),
                        code_list(spec.environment), code(spec.field), type_name(spec.type),
                        code(spec.default_text), spec.help);
  }
  return text;
}

std::string users(unsigned uses) {
  std::vector<std::string_view> names;
  for (const auto& program : flag_programs()) {
    if ((uses & program.use) != 0) names.push_back(program.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// One line of the table of environment variables; `key` is for sorting.
struct Row {
  std::string_view key;
  std::string text;
};

std::string config_row(std::string_view path, std::string_view type, std::string_view default_text,
                       std::string_view flag, std::string_view help) {
  return fmt::format("| {} | {} | {} | {} | {} |\n", code(path), type, code(default_text),
                     flag.empty() ? "" : fmt::format("`--{}`", flag), help);
}

void add_fields(std::string_view part, std::vector<std::string_view>& done, std::string& text) {
  for (const auto& spec : flag_table()) {
    if (!spec.field.starts_with(part)) continue;
    if (std::ranges::find(done, spec.field) != done.end()) continue;
    done.push_back(spec.field);
    text += config_row(spec.field, type_name(spec.type), spec.default_text, spec.name, spec.help);
  }
  for (const auto& field : file_only_fields()) {
    if (!field.path.starts_with(part)) continue;
    text += config_row(field.path, field.type, field.default_text, "", field.help);
  }
}

}  // namespace

std::string reference_flags() {
  std::string text = fmt::format(
      "# Flags\n\n{}"
      "A flag wins over its environment variable, that over the configuration file, that over the "
      "default:\n[Configuration](../configuration.md) tells the rules. `--flag value`, "
      "`--flag=value` and `-flag=value` are the same; a bool\nwithout a value is true. Lists are "
      "written with commas or by repeating the flag.\n",
      kNote);
  std::string_view above;  // the command whose verbs these are
  for (const auto& program : flag_programs()) {
    const auto command = program.title.substr(0, program.title.find(' '));
    const bool is_verb = program.name.find(' ') != std::string_view::npos;
    if (is_verb && command != above) text += fmt::format("\n## {}\n", command);
    above = is_verb ? command : std::string_view();
    text += flags_of(program);
  }
  return text;
}

std::string reference_environment() {
  std::vector<Row> rows;
  for (const auto& spec : flag_table()) {
    for (const auto name : spec.environment) {
      auto row = fmt::format("| `{}` | `--{}` | {} | {} |\n", name, spec.name, users(spec.uses),
                             spec.help);
      rows.push_back({name, std::move(row)});
    }
  }
  for (const auto& variable : environment_only()) {
    rows.push_back(
        {variable.name, fmt::format("| `{}` |  | agent | {} |\n", variable.name, variable.help)});
  }
  std::ranges::stable_sort(rows, {}, &Row::key);
  std::string text = fmt::format(
      "# Environment\n\n{}"
      "A variable counts when it is set, be it to nothing: then a string is empty, a bool false, a "
      "list one empty\nstring, and a number or duration as if not set. Where a flag has two "
      "variables the first that is set counts.\n\n"
      "| variable | flag | of | what |\n|---|---|---|---|\n",
      kNote);
  for (const auto& row : rows) text += row.text;
  return text;
}

std::string reference_config_file() {
  std::string text = fmt::format(
      "# Configuration file\n\n{}"
      "YAML or JSON. Keys match without case, but for those inside `timeSlicing`, `mps` and the "
      "entries of `resources`.\n[Configuration](../configuration.md) tells what comes of them.\n\n"
      "| key | type | default | flag | what |\n|---|---|---|---|---|\n",
      kNote);
  std::vector<std::string_view> done;
  for (const auto* part : {"version", "flags.", "resources.", "sharing.", "imex.", "tranche."}) {
    add_fields(part, done, text);
  }
  return text;
}

}  // namespace tranche::config
