#pragma once
// Every key of the configuration file: the keys that a mapping may hold (for unknown keys and "did
// you mean") and the contents of docs/reference/config-file.md. Keys that a flag sets too come from
// the flag table. Paths: "flags.plugin.deviceIDStrategy", list items as
// "sharing.mps.resources[].name".

#include <span>
#include <string_view>
#include <vector>

#include "config/flags/flag_table.h"

namespace tranche::config {

struct FieldSpec {
  std::string_view path;
  std::string_view type;
  std::string_view default_text;
  std::string_view help;
};

// The keys that no flag sets, in the order of the file.
std::span<const FieldSpec> file_only_fields();

// The keys directly under `path` ("": the top), in the order of the tables.
std::vector<std::string_view> keys_under(std::string_view path);

// The flag that sets the file field `path`; nullptr when none does.
const FlagSpec* flag_of_field(std::string_view path);

}  // namespace tranche::config
