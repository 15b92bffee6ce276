#pragma once
// The file system seen through a root: production uses "/", tests and the simulated machine a
// folder that holds the same tree (`tranche-sim root DIR`). All paths taken are absolute
// ("/sys/bus/pci"); a path that is missing its leading slash is read as if it had one. Thread-safe:
// no state but the root.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tranche {

class FsRoot {
 public:
  FsRoot() : root_("/") {}
  explicit FsRoot(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  // The path to hand to the operating system for `path` seen through this root.
  std::filesystem::path resolve(const std::filesystem::path& path) const;

  // The whole file. kInvalidArgument when it is longer than `max_bytes`; special files of /proc and
  // /sys (size 0) are read to their end.
  Result<std::string> read(const std::filesystem::path& path,
                           std::size_t max_bytes = kDefaultMaxBytes) const;
  // Replaces the file in one step (temporary file in the same folder, then rename). The folder must
  // exist. With `sync`, the content is on the disk before the rename.
  Result<void> write_atomic(const std::filesystem::path& path, std::string_view content,
                            unsigned mode = 0644, bool sync = false) const;
  Result<void> make_directories(const std::filesystem::path& path) const;
  // Removes a file or a link; fine when it is not there.
  Result<void> remove(const std::filesystem::path& path) const;
  // Names in a folder, sorted, without "." and "..".
  Result<std::vector<std::string>> list(const std::filesystem::path& path) const;
  Result<std::string> read_link(const std::filesystem::path& path) const;

  bool exists(const std::filesystem::path& path) const;
  bool is_directory(const std::filesystem::path& path) const;
  bool is_char_device(const std::filesystem::path& path) const;

  static constexpr std::size_t kDefaultMaxBytes = std::size_t{4} << 20U;

 private:
  std::filesystem::path root_;
};

}  // namespace tranche
