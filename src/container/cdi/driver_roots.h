#pragma once
// Where the driver's files are searched, and whether a file exists for a container runtime, which
// runs on the host and follows links as the host does.

#include <filesystem>
#include <string>

#include "base/fs.h"

namespace tranche::cdi {

// The roots of the folders, as this process sees them.
struct DriverRoots {
  FsRoot driver;  // the driver's installation: flags.plugin.containerDriverRoot
  FsRoot dev;     // the folder whose /dev has the device nodes: find_dev_root()
  FsRoot host;    // /sys
  // The driver's installation on the host, to which its links may refer.
  std::filesystem::path driver_on_host = "/";
};

// Whether `path` in the driver root is a file or folder, or a link to one. A link out of the driver
// root is followed if this process sees the host's files.
bool is_there(const DriverRoots& roots, const std::string& path);
// Whether it is a dangling link. A runtime cannot create a container that should mount one.
bool is_dangling(const DriverRoots& roots, const std::string& path);

}  // namespace tranche::cdi
