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

// The file that a path and a name lead to.
struct ConfigPath {
  std::filesystem::path path;
  std::string key;  // as ConfigText's
};

// Finds the file at `path`. If `path` is a folder: its file `name`, or without a name the file
// `default`, or else the only file. Errors name the files that exist. kNotFound: no such file or
// name, an empty folder, a dangling link. kInvalidArgument: too large, a pipe or a socket, a name
// although `path` is a file. kIo: a loop of links.
Result<ConfigPath> find_config(const FsRoot& fs, const std::filesystem::path& path,
                               std::string_view name = {});
// Reads such a file, whoever may be writing it (config/file/settled_reader.h). Errors as above.
Result<FileReading> observe_config(const FsRoot& fs, const ConfigPath& found);
// Finds and reads it.
Result<ConfigText> read_config(const FsRoot& fs, const std::filesystem::path& path,
                               std::string_view name = {});

// The names of the configurations in a folder, sorted: its files and links to files. Names that
// begin with ".." belong to the ConfigMap volume itself and are left out.
Result<std::vector<std::string>> config_names(const FsRoot& fs, const std::filesystem::path& path);

// The real paths to watch (base/watch.h) so that no change of what read_config would read is
// missed, whether it succeeds now or not.
std::vector<std::filesystem::path> config_watch_paths(const FsRoot& fs,
                                                      const std::filesystem::path& path,
                                                      std::string_view name = {});

}  // namespace tranche::config
