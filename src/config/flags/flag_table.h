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

// In the order of the help.
std::span<const FlagSpec> flag_table();
// The flag that one of the programs `uses` knows by this canonical name or alias; nullptr when
// unknown.
const FlagSpec* find_flag(std::string_view name, unsigned uses = ~0U);
// Names and aliases of every flag of the programs `uses`: for "did you mean".
std::vector<std::string_view> flag_names(unsigned uses);

// Under which name a setting is kept while sources are put together: its file field, or "--name".
std::string setting_key(const FlagSpec& spec);

// An environment variable that is no flag's.
struct EnvironmentOnly {
  std::string_view name;
  std::string_view help;
};
std::span<const EnvironmentOnly> environment_only();

}  // namespace tranche::config
