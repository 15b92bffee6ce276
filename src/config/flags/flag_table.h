#pragma once
// One table of every setting: flag names and aliases, environment names, file field, type, default,
// help. The command line, the environment reader, the defaults, --help and docs/reference all come
// from it. A flag that two programs take with different environment names has a row for each.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tranche::config {

enum class FlagType { kString, kBool, kInt, kFloat, kIntList, kStringList, kDuration };

// Which programs take the flag (bit set).
enum FlagUse : unsigned {
  kUseAgent = 1,             // tranche agent, nvidia-device-plugin
  kUseFeatureDiscovery = 2,  // tranche labels, gpu-feature-discovery
  kUseConfigManager = 4,     // config-manager
  kUseController = 8,        // tranche controller
  kUseCleanup = 16,          // tranche cleanup
  kUseArbiter = 32,          // tranche arbiter
  kUseMpsControl = 64,       // tranche mps-control-daemon, mps-control-daemon
  kUseLimit = 128,           // tranche limit
};

struct FlagSpec {
  std::string_view name;                               // canonical, without dashes
  std::span<const std::string_view> aliases = {};      // other spellings; one letter = short flag
  std::span<const std::string_view> environment = {};  // in order of precedence
  std::string_view field = {};  // "flags.plugin.passDeviceSpecs"; "" = flag and environment only
  FlagType type = FlagType::kString;
  std::string_view default_text = {};  // the default itself, as one would write it after the flag
  std::string_view help = {};
  unsigned uses = kUseAgent;
};

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
