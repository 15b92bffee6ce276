#pragma once
// Recognises a folder of the node among the mounts of other processes. Immutable.

#include <filesystem>
#include <optional>
#include <string>

#include "base/fs.h"
#include "host/process.h"

namespace tranche::arbiter {

class NodeFolder {
 public:
  // `folder`: its path here. A folder that this process does not see counts as mounted nowhere.
  NodeFolder(const FsRoot& host, const std::filesystem::path& folder);
  // Whether `below`, a folder inside it ("": itself), is mounted in the container of the process.
  bool is_mounted(const host::ProcessFacts& facts, const std::string& below = "") const;
  // nullopt: the folder was not found, so no mount matches.
  const std::optional<host::Place>& place() const { return place_; }

 private:
  std::optional<host::Place> place_;
};

}  // namespace tranche::arbiter
