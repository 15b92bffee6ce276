#pragma once
// Where the driver's files are looked for, and whether what is found is there for a container
// runtime, which runs on the host and follows links as the host does.

#include <filesystem>
#include <string>

#include "base/fs.h"

namespace tranche::cdi {

// The roots of the folders, as this process sees them.
struct DriverRoots {
  FsRoot driver;  // the driver's installation: flags.plugin.containerDriverRoot
  FsRoot dev;     // the folder whose /dev has the device nodes: find_dev_root()
  FsRoot host;    // /sys
  // The driver's installation on the host, of which links there may speak.
  std::filesystem::path driver_on_host = "/";
};

// Whether `path` of the driver root is a file or a folder there, or a link that leads to one. A
// link out of the driver root is followed where this process sees the host's files.
bool is_there(const DriverRoots& roots, const std::string& path);
// A link that leads to nothing. A runtime that is to mount it makes no container at all.
bool is_dangling(const DriverRoots& roots, const std::string& path);

}  // namespace tranche::cdi
