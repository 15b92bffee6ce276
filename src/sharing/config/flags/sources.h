#pragma once
// Everything that a user can specify about a program's settings, unprocessed: the file's text, the
// command line and the environment. load() and the load_*_options() read it.

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tranche::config {

// One setting given on the command line, by the canonical flag name without dashes
// ("mig-strategy"; aliases are resolved by the flag table). Repeatable flags appear once per value.
struct FlagValue {
  std::string name;
  std::string value;
  bool operator==(const FlagValue&) const = default;
};

// Which program's rules apply: the agent and nvidia-device-plugin validate everything,
// gpu-feature-discovery only the discovery strategy.
enum class Program { kAgent, kFeatureDiscovery };

struct Sources {
  Program program = Program::kAgent;
  bool drop_in = false;  // called under the name of NVIDIA's program
  // The file's text and its name for messages; nullopt: no file.
  std::optional<std::string> file_text;
  std::string file_name;
  std::vector<FlagValue> flags;
  std::map<std::string, std::string> environment;
  // Values that replace a flag's own default, by flag name: what a deployment sets, for checking a
  // file without the deployment.
  std::map<std::string, std::string, std::less<>> defaults = {};
  // Unknown and duplicate keys are errors; the flag --strict-config among `flags` has the same
  // effect.
  bool strict = false;
};

}  // namespace tranche::config
