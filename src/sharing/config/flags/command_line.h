#pragma once
// Reads argv by the rules of the Go programs whose arguments are in users' manifests:
// --flag value, --flag=value, -flag; a bool takes its value only after "=" and is true without one;
// a flag may be repeated; "--" or the first word that is not a flag ends the flags. Values are
// checked later, by load() and the load_*_options().

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/flags/flag_table.h"
#include "config/flags/sources.h"

namespace tranche::config {

struct ParsedArgs {
  std::vector<FlagValue> flags;  // by canonical name, in the given order
  std::vector<std::string> positionals;
  bool help = false;     // --help, -h
  bool version = false;  // --version, -v
  bool operator==(const ParsedArgs&) const = default;
};

// `args` excludes the program's name; `uses`: whose flags (FlagUse). kInvalidArgument for an
// unknown flag (with the nearest known one) and for a missing value.
Result<ParsedArgs> parse_arguments(std::span<const std::string_view> args, unsigned uses);

// The same where flags may appear before, between and after the words; only "--" ends them.
Result<ParsedArgs> parse_words(std::span<const std::string_view> args, unsigned uses);

// The placeholder for a flag's value in help: "VALUE", "LIST"; empty for a bool, which takes none.
std::string_view placeholder(FlagType type);

// The --help text of flags: those that every one of the programs `uses` takes, each with its
// default and environment variables.
std::string flags_help(unsigned uses);

}  // namespace tranche::config
