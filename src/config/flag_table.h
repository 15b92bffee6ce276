#pragma once
// One table of every setting: flag names and aliases, environment names, file field, type, default,
// help. The command line, the environment reader, --help and docs/reference pages all come from it.

#include <span>
#include <string_view>

namespace tranche::config {

enum class FlagType { kString, kBool, kInt, kIntList, kStringList, kDuration };

// Which programs take the flag (bit set).
enum FlagUse : unsigned {
  kUseAgent = 1,             // tranche agent, nvidia-device-plugin
  kUseFeatureDiscovery = 2,  // tranche labels, gpu-feature-discovery
};

struct FlagSpec {
  std::string_view name;                          // canonical, without dashes
  std::span<const std::string_view> aliases;      // other spellings; one letter = short flag
  std::span<const std::string_view> environment;  // in order of precedence
  std::string_view field;  // "flags.plugin.passDeviceSpecs"; "" = flag and environment only
  FlagType type = FlagType::kString;
  std::string_view default_text;  // for help
  std::string_view help;
  unsigned uses = kUseAgent;
};

// In the order of the help.
std::span<const FlagSpec> flag_table();
// By canonical name or alias; nullptr when unknown.
const FlagSpec* find_flag(std::string_view name);

}  // namespace tranche::config
