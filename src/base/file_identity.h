#pragma once
// Which file lies at a path, to see later whether it is still the same one.

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>

namespace tranche {

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  // A new file may get the old one's inode number: its change time tells them apart.
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;

  bool exists() const { return inode != 0; }
  // The same inode, whatever was done to it since (renamed, chmod).
  bool same_inode(const FileIdentity& other) const {
    return device == other.device && inode == other.inode;
  }
  bool operator==(const FileIdentity&) const = default;
};

// All zero when nothing is there. Does not follow a link at the end of the path.
inline FileIdentity identify(const std::filesystem::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_ctim.tv_sec, status.st_ctim.tv_nsec};
}

}  // namespace tranche
