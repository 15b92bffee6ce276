#pragma once
// Where the configuration's text comes from: --config-file, a file or a folder of files (a mounted
// ConfigMap), with --config-name. Files are read through the file-system root given.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::config {

// As large as a ConfigMap can be.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20U;

struct ConfigText {
  std::string text;
  std::string name;  // to show: the path of the file
  std::string key;   // its name in the folder; "" when --config-file is a file
  bool operator==(const ConfigText&) const = default;
};

// The file at `path`, or of a folder the file `name`, else `default`, else the only one.
// Errors say what there is: kNotFound (no such file, no such name, an empty folder, a dangling
// link), kInvalidArgument (too large, a pipe or socket, a name for what is no folder), kIo (a loop
// of links).
Result<ConfigText> read_config(const FsRoot& fs, const std::filesystem::path& path,
                               std::string_view name = {});

// The names of the configurations in a folder, sorted: files and links to files; names that begin
// with ".." are a ConfigMap volume's own.
Result<std::vector<std::string>> config_names(const FsRoot& fs, const std::filesystem::path& path);

// What to watch (base/watch.h) to see every change that read_config could see, whether it succeeds
// now or not: real paths, resolved through `fs`.
std::vector<std::filesystem::path> config_watch_paths(const FsRoot& fs,
                                                      const std::filesystem::path& path,
                                                      std::string_view name = {});

}  // namespace tranche::config
