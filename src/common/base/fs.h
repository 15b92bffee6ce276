#pragma once
// The file system, seen through a root folder. Production uses "/". Tests and the simulated machine
// use a folder that holds the same tree (`tranche-sim root DIR`). All paths are absolute
// ("/sys/bus/pci"); a path without its leading slash counts as if it had one. Thread-safe: the root
// is the only state.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_identity.h"
#include "base/result.h"

namespace tranche {

// The content of a file at one moment, and whether it was complete then.
struct FileReading {
  std::string text;
  FileIdentity identity;  // with the time of the last change
  bool regular = true;    // false: a device, such as /dev/null
  // Another process had it open for writing, or changed it during the read. nullopt: unknown
  // here.
  std::optional<bool> being_written;
};

class FsRoot {
 public:
  FsRoot() : root_("/") {}
  explicit FsRoot(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  // The path by which the operating system reaches `path` of this root.
  std::filesystem::path resolve(const std::filesystem::path& path) const;

  // Reads the whole file. kInvalidArgument: it is longer than `max_bytes`. Files of /proc and /sys,
  // whose size is 0, are read to their end.
  Result<std::string> read(const std::filesystem::path& path,
                           std::size_t max_bytes = kDefaultMaxBytes) const;
  // Like read(), and also reports whether someone else is writing the file. Follows links.
  // `being_written` is known where this process owns the file and its file system supports leases
  // (fcntl(2), F_SETLEASE: a read lease is refused while the file is open for writing; it is
  // released at once).
  Result<FileReading> observe(const std::filesystem::path& path,
                              std::size_t max_bytes = kDefaultMaxBytes) const;
  // Replaces the file in one step: writes a temporary file in the same folder and renames it. The
  // folder must exist. With Sync::kNow the content is on disk before the rename, and the new name
  // before the call returns. An error may then mean that the file is replaced but its name could
  // still be lost in a power cut.
  enum class Sync { kLater, kNow };
  Result<void> write_atomic(const std::filesystem::path& path, std::string_view content,
                            unsigned mode = 0644, Sync sync = Sync::kLater) const;
  Result<void> make_directories(const std::filesystem::path& path) const;
  // Removes a file or a link; succeeds if there is none.
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
