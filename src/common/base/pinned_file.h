#pragma once
// Holds a file itself, not its name. While a file is pinned, no other file gets its inode number,
// and path() leads to it even after another file takes its name. A client can connect to a pinned
// unix socket through path(); the connection is refused if another server took the name meanwhile.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace tranche {

class PinnedFile {
 public:
  PinnedFile() = default;  // pins nothing
  // Pins the file that `path` leads to now; links are followed. Pins nothing if there is none.
  explicit PinnedFile(const std::filesystem::path& path)
      : fd_(::open(path.c_str(), O_PATH | O_CLOEXEC)) {}
  PinnedFile(PinnedFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  PinnedFile& operator=(PinnedFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~PinnedFile() {
    if (fd_ >= 0) ::close(fd_);
  }

  bool exists() const { return fd_ >= 0; }
  // Call only if exists(). The path is valid in this process alone.
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  // Whether both pin the same file. Two that pin nothing are the same.
  bool same(const PinnedFile& other) const {
    if (!exists() || !other.exists()) return exists() == other.exists();
    const auto a = status();
    const auto b = other.status();
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
  }

 private:
  struct stat status() const {
    struct stat result{};
    ::fstat(fd_, &result);
    return result;
  }

  int fd_ = -1;
};

}  // namespace tranche
