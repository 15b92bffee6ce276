#include "config/programs/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "config/file/fields.h"
#include "config/flags/flag_table.h"
#include "config/programs/flag_sections.h"

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
      return "list";
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

std::string type_and_default(const FlagSpec& spec) {
  const auto type = spec.type == FlagType::kString ? std::string_view() : type_name(spec.type);
  const auto* between = type.empty() || spec.default_text.empty() ? "" : ", ";
  return fmt::format("{}{}{}", type, between, code(spec.default_text));
}

// A column of a table; omitted if it is empty in every row.
struct Column {
  std::string_view head;
  std::vector<std::string> cells = {};
};

// The variables and the key of the file that set the same: MIG_STRATEGY, flags.migStrategy.
std::string other_names(const FlagSpec& spec) {
  const auto* between = spec.environment.empty() || spec.field.empty() ? "" : ", ";
  return fmt::format("{}{}{}", code_list(spec.environment), between, code(spec.field));
}

std::vector<Column> columns_of(const FlagSection& section) {
  std::vector<Column> columns{{"flag"}, {"of"}, {"variable, key"}, {"default"}, {"what"}};
  for (const auto* spec : section.flags) {
    columns[0].cells.push_back(spellings(*spec, section.uses == 0 ? ~0U : section.uses));
    columns[1].cells.push_back(users(*spec, section));
    columns[2].cells.push_back(other_names(*spec));
    columns[3].cells.push_back(type_and_default(*spec));
    columns[4].cells.emplace_back(spec->help);
  }
  std::erase_if(columns, [](const Column& column) {
    return std::ranges::all_of(column.cells, &std::string::empty);
  });
  return columns;
}

std::string table(const std::vector<Column>& columns) {
  std::string text = "|";
  for (const auto& column : columns) text += fmt::format(" {} |", column.head);
  text += "\n|";
  for (std::size_t i = 0; i < columns.size(); ++i) text += "---|";
  text += "\n";
  for (std::size_t row = 0; row < columns.front().cells.size(); ++row) {
    text += "|";
    for (const auto& column : columns) {
      text += column.cells[row].empty() ? " |" : fmt::format(" {} |", column.cells[row]);
    }
    text += "\n";
  }
  return text;
}

// The flags that each variable sets, linked to their tables.
std::map<std::string_view, std::vector<std::string>> flags_by_variable() {
  std::map<std::string_view, std::vector<std::string>> variables;
  for (const auto& section : flag_sections()) {
    for (const auto* spec : section.flags) {
      for (const auto name : spec->environment) {
        auto link = fmt::format("[`--{}`](flags.md#{})", spec->name, anchor_of(section));
        auto& links = variables[name];
        if (std::ranges::find(links, link) == links.end()) links.push_back(std::move(link));
      }
    }
  }
  return variables;
}

// Keys that a flag sets, each with its flag; a key of two flags of one name is listed once.
std::string keys_of_flags() {
  std::string text;
  std::vector<std::string_view> done;
  for (const auto& section : flag_sections()) {
    for (const auto* spec : section.flags) {
      if (spec->field.empty() || std::ranges::find(done, spec->field) != done.end()) continue;
      done.push_back(spec->field);
      text += fmt::format("- `{}`: [`--{}`](flags.md#{})\n", spec->field, spec->name,
                          anchor_of(section));
    }
  }
  return text;
}

// Whether the key of a resource's limits is already listed with the general limits.
bool is_said_in_general(std::string_view path) {
  constexpr std::string_view kOfResource = "tranche.limits.resources[].";
  if (!path.starts_with(kOfResource)) return false;
  const auto general = fmt::format("tranche.limits.{}", path.substr(kOfResource.size()));
  return std::ranges::find(file_only_fields(), general, &FieldSpec::path) !=
         file_only_fields().end();
}

std::string keys_of_file() {
  std::string text;
  for (const auto& field : file_only_fields()) {
    if (is_said_in_general(field.path)) continue;
    text += fmt::format("| `{}` | {} | {} | {} |\n", field.path, field.type,
                        code(field.default_text), field.help);
  }
  return text;
}

}  // namespace

std::string reference_flags() {
  std::string text = fmt::format(
      "# Flags\n\n{}"
      "A flag wins over its environment variable, that over the configuration file, that over the "
      "default\n([configuration](../configuration.md)). `--flag value`, `--flag=value` and "
      "`-flag=value` are the same; a bool\nwithout a value is true. Where a flag has two variables "
      "the first that is set counts. A variable is in capitals, a\nkey is one of the file. A value "
      "is a string where no other type is named; a list is "
      "written with commas or by repeating the flag, in the file as a string or a\nlist.\n",
      kNote);
  for (const auto& section : flag_sections()) {
    text +=
        fmt::format("\n## {}\n\n{}\n\n{}", section.title, section.of, table(columns_of(section)));
  }
  return text;
}

std::string reference_environment() {
  std::string text = fmt::format(
      "# Environment\n\n{}"
      "A variable counts when it is set, be it to nothing: then a string is empty, a bool false, a "
      "list one empty\nstring, and a number or duration as if not set. What each means stands with "
      "its [flag](flags.md).\n\nVariables of the agent without a flag:\n\n",
      kNote);
  for (const auto& variable : environment_only()) {
    text += fmt::format("- `{}`: {}\n", variable.name, variable.help);
  }
  text += "\nWith one:\n\n";
  for (const auto& [name, flags] : flags_by_variable()) {
    text += fmt::format("- `{}`: {}\n", name, fmt::join(flags, ", "));
  }
  return text;
}

std::string reference_config_file() {
  return fmt::format(
      "# Configuration file\n\n{}"
      "YAML or JSON. Keys match without case, but for those inside `timeSlicing`, `mps` and the "
      "items of `resources`.\n[Configuration](../configuration.md) tells what comes of them.\n\n"
      "## Keys that a flag sets, too\n\nType, default and meaning stand with the flag.\n\n"
      "{}\n"
      "## Keys of the file alone\n\nAn item of `tranche.limits.resources` takes every key of "
      "`tranche.limits` but `resources`, for that resource.\nWhat it leaves out is as in "
      "general.\n\n| key | type | default | what |\n|---|---|---|---|\n{}",
      kNote, keys_of_flags(), keys_of_file());
}

}  // namespace tranche::config
