#pragma once
// Detects when the file or folder behind a path may have changed. It notices every way to change a
// file: it is written in place, another file is renamed over it, it is created, a link on the path
// now points elsewhere (`..data` of a ConfigMap volume), or a parent folder is replaced. A Watch
// does not read the file. It may report a change where the content is the same, but it misses
// none.
//
// inotify watches inodes, not paths. A watch on a mounted file ends with the first update, and a
// watch on the folder of an outer link sees nothing. So each folder on the path is watched for the
// next path component, and the path is resolved again after each change. A write counts when the
// writer closes the file; so a file that is truncated and not yet written is not mistaken for new
// content. inotify does not report mounts, so these go unnoticed.
//
// A Watch has one inotify descriptor. Movable; used by one thread at a time.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tranche {

class Watch {
 public:
  // `paths`: absolute paths of files or folders, which need not exist. A folder has changed when an
  // entry of it is created, removed, renamed or written. kIo: the system has no inotify instances
  // or watches left.
  static Result<Watch> open(std::vector<std::filesystem::path> paths);

  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch();

  // For poll(): readable when there is something to drain.
  int fd() const { return fd_; }

  // Takes all pending events; true: a path may have changed. Never blocks.
  bool drain();

  enum class Outcome { kChanged, kTimeout, kStopped };
  Outcome wait(std::chrono::milliseconds timeout, const std::stop_token& stop);

 private:
  // The names of interest in one watched folder.
  struct Interest {
    std::set<std::string> names;
    bool any = false;  // the folder itself ends a path: every name counts
  };

  explicit Watch(int fd) : fd_(fd) {}
  bool read_events();
  Result<void> walk();
  Result<void> walk_path(const std::filesystem::path& path, std::map<int, Interest>& found);
  Result<Interest*> watch_folder(const std::filesystem::path& folder, std::uint32_t events,
                                 std::map<int, Interest>& found);

  int fd_ = -1;
  std::vector<std::filesystem::path> paths_;
  std::map<int, Interest> interests_;  // by watch descriptor
};

}  // namespace tranche
