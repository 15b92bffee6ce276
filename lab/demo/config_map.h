#pragma once
// A ConfigMap as text, and as the volume that kubelet makes of it: files that are links through
// `..data` into a folder with the revision's name; an update makes a new folder and swaps `..data`
// in one rename. What reads the volume sees all of the old or all of the new.

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::demo {

// Key -> file content.
using ConfigData = std::map<std::string, std::string>;

// `data` of a ConfigMap manifest. kInvalidArgument when it has none, or a value that is no text.
Result<ConfigData> parse_config_map(std::string_view manifest, std::string_view name);

class ConfigVolume {
 public:
  explicit ConfigVolume(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  // Writes the next revision; the change is visible when this returns. Removed keys lose their
  // link.
  Result<void> update(const ConfigData& data);

 private:
  Result<void> swap(const std::string& revision);
  Result<void> link_keys(const ConfigData& data);

  std::filesystem::path folder_;
  FsRoot fs_;
  std::string current_;  // name of the revision's folder
  int revision_ = 0;
};

}  // namespace tranche::demo
