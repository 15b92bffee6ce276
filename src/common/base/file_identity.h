#pragma once
// Identifies the file at a path, to see later whether it is still the same file.

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

namespace tranche {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  // Change time: a new file may get the inode number of one that was removed.
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  bool exists() const { return inode != 0; }
  // Whether both are one inode, even if it was renamed or its mode was changed meanwhile.
  bool same_inode(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
  bool operator==(const FileIdentity&) const = default;
};

inline FileIdentity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

// All zero when there is no file. Does not follow a link at the end of the path.
inline FileIdentity identify(const std::filesystem::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return identity_of(status);
}

}  // namespace tranche
