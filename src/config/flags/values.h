#pragma once
// One setting's value out of text or out of a node of the file, by its type in the flag table.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/yaml.h"
#include "config/flags/flag_table.h"
#include "config/flags/setting.h"

namespace tranche::config {

// From the command line (each occurrence of the flag one text) or a default: lists are split at
// commas, of scalars the last occurrence counts. Booleans as Go's ParseBool.
Result<SettingValue> value_from_flag(FlagType type, const std::vector<std::string>& texts);

// From an environment variable that is set. Set but empty: "" for a string, false for a bool, one
// empty string for a string list; nullopt (the default holds) for numbers and durations.
Result<std::optional<SettingValue>> value_from_environment(FlagType type, const std::string& text);

// From a table's default_text.
SettingValue value_from_default(FlagType type, std::string_view text);

// From the file; `node` is not null. Booleans and numbers must not be quoted; a string may be any
// plain scalar; a string list may be one string; a duration is a string or a number of nanoseconds.
Result<SettingValue> value_from_node(FlagType type, const yaml::Node& node);

// "true or false", "a number", ...: what a value of this type looks like, for remedies.
std::string_view describe(FlagType type);

}  // namespace tranche::config
