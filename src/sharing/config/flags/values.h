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

// From the command line, one text per occurrence of the flag, or from a default. Lists are split at
// commas. For other types the last text counts. Bools are parsed like Go's ParseBool.
Result<SettingValue> value_from_flag(FlagType type, const std::vector<std::string>& texts);

// From an environment variable that is set. An empty one is "" as a string, false as a bool, one
// empty string as a string list; for numbers and durations it is nullopt, and the default applies.
Result<std::optional<SettingValue>> value_from_environment(FlagType type, const std::string& text);

// From a table's default_text.
SettingValue value_from_default(FlagType type, std::string_view text);

// From the file; `node` must not be null. Booleans and numbers must not be quoted; a string may be
// any plain scalar; a string list may be a single string; a duration is a string or a number of
// nanoseconds.
Result<SettingValue> value_from_node(FlagType type, const yaml::Node& node);

// "cannot unmarshal number into a mapping, found '5'": words that users of NVIDIA's programs search
// for. `wanted`: what is expected.
std::string cannot_unmarshal(const yaml::Node& node, std::string_view wanted);

// Describes values of this type for remedies: "true or false", "a number", ...
std::string_view describe(FlagType type);

}  // namespace tranche::config
