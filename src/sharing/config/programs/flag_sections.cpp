#include "config/programs/flag_sections.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tranche::config {
namespace {

// "limit" of "limit set", the command whose words share a table.
std::string_view command_of(std::string_view name) { return name.substr(0, name.find(' ')); }

FlagSection section_of(const FlagProgram& program) {
  if (command_of(program.name) == program.name) {
    return {std::string(program.title), fmt::format("Of {}.", program.names), program.use};
  }
  return {std::string(command_of(program.title)),
          fmt::format("Of `tranche {}`.", command_of(program.name)), program.use};
}

std::vector<FlagSection> empty_sections() {
  std::vector<FlagSection> sections{
      {"Several programs", "Each flag is of the programs that it names."}};
  std::string_view above;
  for (const auto& program : flag_programs()) {
    const auto command = command_of(program.name);
    if (command == above) {
      sections.back().uses |= program.use;
    } else {
      sections.push_back(section_of(program));
    }
    above = command;
  }
  return sections;
}

std::string command_of_section(const FlagSection& section) {
  const auto first = std::ranges::find_if(
      flag_programs(), [&](const auto& program) { return (program.use & section.uses) != 0; });
  return std::string(command_of(first->name));
}

// The words of the section's command that take the flag: "set, reset".
std::string words_of(const FlagSpec& spec, const FlagSection& section) {
  std::vector<std::string_view> words;
  for (const auto& program : flag_programs()) {
    if ((section.uses & spec.uses & program.use) == 0) continue;
    words.push_back(program.name.substr(program.name.find(' ') + 1));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

bool has_words(const FlagSection& section) {
  return std::ranges::count_if(flag_programs(), [&](const auto& program) {
           return (program.use & section.uses) != 0;
         }) > 1;
}

// "agent, limit set, get": a command once, and without its words if all take the flag.
std::string programs_of(const FlagSpec& spec) {
  std::vector<std::string> names;
  for (const auto& section : empty_sections()) {
    if ((section.uses & spec.uses) == section.uses && section.uses != 0) {
      names.push_back(command_of_section(section));
    } else if ((section.uses & spec.uses) != 0) {
      names.push_back(fmt::format("{} {}", command_of_section(section), words_of(spec, section)));
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<FlagSection> flag_sections() {
  auto all = empty_sections();
  for (const auto& spec : flag_table()) {
    const auto alone = std::ranges::find_if(
        all, [&](const FlagSection& one) { return one.uses != 0 && (spec.uses & ~one.uses) == 0; });
    (alone == all.end() ? all.front() : *alone).flags.push_back(&spec);
  }
  std::erase_if(all, [](const FlagSection& one) { return one.flags.empty(); });
  return all;
}

std::string users(const FlagSpec& spec, const FlagSection& section) {
  if (section.uses == 0) return programs_of(spec);
  if (!has_words(section)) return {};
  return (spec.uses & section.uses) == section.uses ? "all" : words_of(spec, section);
}

std::string anchor_of(const FlagSection& section) {
  auto name = section.title;
  std::ranges::transform(name, name.begin(), [](unsigned char one) {
    return one == ' ' ? '-' : static_cast<char>(std::tolower(one));
  });
  return name;
}

}  // namespace tranche::config
