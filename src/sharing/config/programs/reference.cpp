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
    "<!-- Made from the tables of src/sharing/config/flags and src/sharing/config/file. -->\n\n";

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

// "bool", "duration, `60s`", "`auto`": a string is not named, nor that a bool is false.
std::string type_and_default(const FlagSpec& spec) {
  const bool says_default = spec.type != FlagType::kBool || spec.default_text != "false";
  std::vector<std::string> words;
  if (spec.type != FlagType::kString) words.emplace_back(type_name(spec.type));
  if (says_default && !spec.default_text.empty()) words.push_back(code(spec.default_text));
  return fmt::format("{}", fmt::join(words, ", "));
}

// The variables and the key of the file that set the same: MIG_STRATEGY, flags.migStrategy.
std::string other_names(const FlagSpec& spec) {
  const auto* between = spec.environment.empty() || spec.field.empty() ? "" : ", ";
  return fmt::format("{}{}{}", code_list(spec.environment), between, code(spec.field));
}

// - `--mig-strategy` (agent; `MIG_STRATEGY`, `flags.migStrategy`; `none`): how MIG devices are ...
std::string item(const FlagSpec& spec, const FlagSection& section) {
  std::vector<std::string> notes{users(spec, section), other_names(spec), type_and_default(spec)};
  std::erase_if(notes, [](const std::string& note) { return note.empty(); });
  const auto about = notes.empty() ? std::string() : fmt::format(" ({})", fmt::join(notes, "; "));
  return fmt::format("- {}{}: {}\n", spellings(spec, section.uses == 0 ? ~0U : section.uses), about,
                     spec.help);
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
    const auto* between = field.default_text.empty() ? "" : "; ";
    text += fmt::format("- `{}` ({}{}{}): {}\n", field.path, field.type, between,
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
      "`-flag=value` are the same; a bool\nwithout a value is true. A list is written with commas "
      "or by repeating the flag, in the file as a string or a\nlist.\n\n"
      "In brackets: the programs that take it; its variables (in capitals; the first that is set "
      "counts) and its key\nof the file; its type, unless it is a string, and its default; a bool "
      "is false by default.\n",
      kNote);
  for (const auto& section : flag_sections()) {
    text += fmt::format("\n## {}\n\n{}\n\n", section.title, section.of);
    for (const auto* spec : section.flags) text += item(*spec, section);
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
      "general. In brackets: type and default.\n\n{}",
      kNote, keys_of_flags(), keys_of_file());
}

}  // namespace tranche::config
