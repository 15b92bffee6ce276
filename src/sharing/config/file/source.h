#pragma once
// The source of the configuration's text: --config-file, a file or a folder of files (a mounted
// ConfigMap), with --config-name. Files are read through the given file-system root.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::config {

// The maximum size of a ConfigMap.
inline constexpr std::size_t kMaxConfigBytes = std::size_t{1} << 20U;

struct ConfigText {
  std::string text;
  std::string name;  // for display: the path of the file
  std::string key;   // its name in the folder; "" if --config-file is a file
  bool operator==(const ConfigText&) const = default;
};

// The file that a path and a name resolve to.
struct ConfigPath {
  std::filesystem::path path;
  std::string key;  // see ConfigText
};

// Finds the file at `path`. If `path` is a folder: its file `name`, or without a name the file
// `default`, or else the only file. Errors list the existing files. kNotFound: no such file or
// name, an empty folder, a dangling link. kInvalidArgument: too large, a pipe or a socket, or a
// name although `path` is a file. kIo: a loop of links.
Result<ConfigPath> find_config(const FsRoot& fs, const std::filesystem::path& path,
                               std::string_view name = {});
// Reads such a file and reports whether it is being written (config/file/settled_reader.h). Errors
// as above.
Result<FileReading> observe_config(const FsRoot& fs, const ConfigPath& found);
// Finds and reads the file.
Result<ConfigText> read_config(const FsRoot& fs, const std::filesystem::path& path,
                               std::string_view name = {});

// The names of the configurations in a folder, sorted: its files and links to files. Names that
// begin with ".." belong to the ConfigMap volume itself and are left out.
Result<std::vector<std::string>> config_names(const FsRoot& fs, const std::filesystem::path& path);

// The real paths to watch (base/watch.h) so that no change of read_config()'s input is missed,
// whether it succeeds now or not.
std::vector<std::filesystem::path> config_watch_paths(const FsRoot& fs,
                                                      const std::filesystem::path& path,
                                                      std::string_view name = {});

}  // namespace tranche::config
