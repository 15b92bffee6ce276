#pragma once
// Every setting of every program: flag names and aliases, environment names, file field, type,
// default, help. The command line, the environment reader, the defaults, --help, the completion of
// shells, the manual pages and docs/reference all come from it. Each program has a table of its own
// (tables.h). A flag that two programs take with different environment names has a row for each.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/flags/flag_spec.h"

namespace tranche::config {

// A program with flags of its own. Its name is short, as in "agent"; `names` is how it is called.
struct FlagProgram {
  unsigned use;  // FlagUse
  std::string_view name;
  std::string_view title;
  std::string_view names;
};
// In the order of the reference pages.
std::span<const FlagProgram> flag_programs();

// The other spellings of a flag that the programs `uses` know.
std::span<const std::string_view> aliases_of(const FlagSpec& spec, unsigned uses);

// All tables joined, in the order of the help.
std::span<const FlagSpec> flag_table();
// The flag that one of the programs `uses` knows by this canonical name or alias; nullptr when
// unknown.
const FlagSpec* find_flag(std::string_view name, unsigned uses = ~0U);
// Names and aliases of every flag of the programs `uses`: for "did you mean".
std::vector<std::string_view> flag_names(unsigned uses);

// The key of a setting in Settings (config/file/settings.h): its file field, or "--name" if it has
// none.
std::string setting_key(const FlagSpec& spec);

// An environment variable that is no flag's.
struct EnvironmentOnly {
  std::string_view name;
  std::string_view help;
};
std::span<const EnvironmentOnly> environment_only();

}  // namespace tranche::config
