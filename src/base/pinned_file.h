#pragma once
// A file held by itself, not by its name: as long as it is pinned its inode number is not given to
// another file, and path() reaches it and nothing that took its name since. A unix socket can be
// connected to through path(): where its server was replaced meanwhile, that is refused.

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
  PinnedFile() = default;  // nothing
  // What lies at `path` now, links followed; nothing when it is not there.
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
  // Only for what exists, and in this process.
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  // Two that hold nothing are the same.
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
