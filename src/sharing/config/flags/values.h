#pragma once
// Reads the value of one setting, from text or from a node of the file, by its type in the flag
// table.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/yaml.h"
#include "config/flags/flag_table.h"
#include "config/flags/setting.h"

namespace tranche::config {

// From the command line, one text for each time that the flag is given, or from a default. Lists
// are split at commas. Of other types the last text counts. Bools are read as Go's ParseBool does.
Result<SettingValue> value_from_flag(FlagType type, const std::vector<std::string>& texts);

// From an environment variable that is set. An empty one is "" as a string, false as a bool, one
// empty string as a string list; for numbers and durations it is nullopt, and the default holds.
Result<std::optional<SettingValue>> value_from_environment(FlagType type, const std::string& text);

// From a table's default_text.
SettingValue value_from_default(FlagType type, std::string_view text);

// From the file; `node` is not null. Booleans and numbers must not be quoted; a string may be any
// plain scalar; a string list may be one string; a duration is a string or a number of nanoseconds.
Result<SettingValue> value_from_node(FlagType type, const yaml::Node& node);

// "cannot unmarshal number into a mapping, found '5'": words that users of NVIDIA's programs search
// for. `wanted`: what should stand there.
std::string cannot_unmarshal(const yaml::Node& node, std::string_view wanted);

// "true or false", "a number", ...: what a value of this type looks like, for remedies.
std::string_view describe(FlagType type);

}  // namespace tranche::config
