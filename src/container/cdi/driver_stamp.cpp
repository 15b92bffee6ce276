#include "cdi/driver_stamp.h"

#include <sys/stat.h>

#include <set>
#include <string>

#include "cdi/driver_libraries.h"

namespace tranche::cdi {
namespace {

// The identity of the path's target; all zero if there is none.
FileIdentity followed(const std::filesystem::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? identity_of(status) : FileIdentity();
}

std::string folder_of(const std::string& path) {
  return std::filesystem::path(path).parent_path().string();
}

}  // namespace

std::vector<FileIdentity> stamp_of(const DriverRoots& roots, const DriverFiles& files) {
  std::set<std::string> paths;
  std::set<std::string> folders = {
      "/usr/local/sbin", "/usr/local/bin",           "/usr/sbin",
      "/usr/bin",        "/run/nvidia-persistenced", "/run/nvidia-fabricmanager"};
  for (const auto folder : library_folders()) {
    folders.emplace(folder);
    folders.insert(std::string(folder) + "/vdpau");
  }
  for (const auto* list : {&files.libraries, &files.explicit_libraries, &files.binaries,
                           &files.firmware, &files.sockets, &files.dangling}) {
    paths.insert(list->begin(), list->end());
  }
  for (const auto& config : files.configs) paths.insert(config.path);
  for (const auto& path : files.firmware) folders.insert(folder_of(path));

  std::vector<FileIdentity> stamp;
  for (const auto& folder : folders) stamp.push_back(followed(roots.driver.resolve(folder)));
  for (const char* folder : {"/dev", "/dev/dri", "/dev/nvidia-caps", "/dev/infiniband"}) {
    stamp.push_back(followed(roots.dev.resolve(folder)));
  }
  // The content of files is not compared, nor that of folders that are mounted whole.
  for (const auto& path : paths) {
    auto identity = followed(roots.driver.resolve(path));
    identity.changed_s = identity.changed_ns = 0;
    stamp.push_back(identity);
  }
  return stamp;
}

}  // namespace tranche::cdi
