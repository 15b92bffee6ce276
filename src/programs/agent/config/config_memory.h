#pragma once
// Keeps the last configuration in force on disk, for a start without an API server: <state
// dir>/config.json, config-choice/v1 (docs/schemas/config-choice-v1.schema.json). It has a
// checksum; a torn or edited file is not used.

#include <filesystem>
#include <optional>
#include <string>

#include "base/fs.h"
#include "base/result.h"
#include "config/file/load.h"
#include "config/flags/sources.h"

namespace tranche::agent {

struct ConfigChoice {
  std::string origin;                            // for people
  std::optional<std::string> text;               // nullopt: the empty configuration
  std::string name;                              // its name in messages
  std::optional<std::string> mig_strategy = {};  // wanted by a ClusterPolicy
  bool operator==(const ConfigChoice&) const = default;
};

// Loads `sources` with the choice's file and strategy. Errors: as config::load; the strategy is
// named as the policy's.
Result<config::Loaded> load_choice(const ConfigChoice& choice, config::Sources sources);

class ConfigMemory {
 public:
  explicit ConfigMemory(const std::filesystem::path& state_dir)
      : file_(state_dir / "config.json") {}

  // nullopt: nothing was kept. kInvalidArgument: torn, edited, or of another version.
  Result<std::optional<ConfigChoice>> load() const;
  // Syncs to the disk.
  Result<void> store(const ConfigChoice& choice) const;

 private:
  std::filesystem::path file_;
  FsRoot fs_;
};

}  // namespace tranche::agent
