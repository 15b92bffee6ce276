#pragma once
// The configuration that was in force last, kept on disk for a start without an API server:
// <state dir>/config.json, config-choice/v1 (docs/schemas/config-choice-v1.schema.json), with a
// checksum; what is torn or edited is not used.

#include <filesystem>
#include <optional>
#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

struct ConfigChoice {
  std::string origin;                            // where it came from, for people
  std::optional<std::string> text;               // nullopt: the empty configuration
  std::string name;                              // what its messages call it
  std::optional<std::string> mig_strategy = {};  // that a ClusterPolicy asks for
  bool operator==(const ConfigChoice&) const = default;
};

class ConfigMemory {
 public:
  explicit ConfigMemory(const std::filesystem::path& state_dir)
      : file_(state_dir / "config.json") {}

  // nullopt: nothing was kept. kInvalidArgument: torn, edited, or of another version.
  Result<std::optional<ConfigChoice>> load() const;
  // Through to the disk.
  Result<void> store(const ConfigChoice& choice) const;

 private:
  std::filesystem::path file_;
  FsRoot fs_;
};

}  // namespace tranche::agent
