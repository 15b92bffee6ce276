#pragma once
// Every setting of every program: flag names and aliases, environment names, file field, type,
// default, help. The command line, the environment reader, the defaults, --help, shell completion,
// the manual pages and docs/reference are all generated from it. Each program has its own table
// (tables.h). A flag that two programs take with different environment names has a row for each.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/flags/flag_spec.h"

namespace tranche::config {

// A program with its own flags. Its name is short, as in "agent"; `names` lists the names it is
// called by.
struct FlagProgram {
  unsigned use;  // FlagUse
  std::string_view name;
  std::string_view title;
  std::string_view names;
};
// In the order of the reference pages.
std::span<const FlagProgram> flag_programs();

// The aliases of a flag that the programs `uses` accept.
std::span<const std::string_view> aliases_of(const FlagSpec& spec, unsigned uses);

// All tables joined, in the order of the help.
std::span<const FlagSpec> flag_table();
// The flag with this canonical name or alias among the flags of the programs `uses`; nullptr if
// unknown.
const FlagSpec* find_flag(std::string_view name, unsigned uses = ~0U);
// Names and aliases of every flag of the programs `uses`, for "did you mean".
std::vector<std::string_view> flag_names(unsigned uses);

// The key of a setting in Settings (config/file/settings.h): its file field, or "--name" if it has
// none.
std::string setting_key(const FlagSpec& spec);

// An environment variable without a flag.
struct EnvironmentOnly {
  std::string_view name;
  std::string_view help;
};
std::span<const EnvironmentOnly> environment_only();

}  // namespace tranche::config
