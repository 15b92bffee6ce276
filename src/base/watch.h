#pragma once
// Tells when the file or folder behind a path may have changed, however it is changed: written in
// place, renamed over, created where there was none, reached by a link that now points elsewhere (a
// ConfigMap volume's `..data`), or with any folder above it replaced. Nothing is told about what
// the file holds; a change may be reported that changed nothing, never the other way round.
//
// inotify watches inodes, not paths: a watch on a mounted file dies with the first update, and one
// on the folder of an outer link sees nothing. So every folder on the way is watched for the one
// name the way goes on with, and the way is walked anew after each change. A write counts when the
// writer closes the file, so that the moment between truncation and writing is not taken for a new
// content. Mounts are not seen (inotify does not report them).
//
// One inotify descriptor each. Movable; used by one thread at a time.

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
  // Absolute paths, of files or folders that need not exist. Of a folder every entry made, removed,
  // renamed or written in it counts. kIo when the system has no inotify instances or watches left.
  static Result<Watch> open(std::vector<std::filesystem::path> paths);

  Watch(Watch&& other) noexcept;
  Watch& operator=(Watch&& other) noexcept;
  ~Watch();

  // Readable when there is something to drain: for poll().
  int fd() const { return fd_; }

  // Takes what has happened; true when a path may have changed. Never waits.
  bool drain();

  enum class Outcome { kChanged, kTimeout, kStopped };
  Outcome wait(std::chrono::milliseconds timeout, const std::stop_token& stop);

 private:
  // What counts in one watched folder.
  struct Interest {
    std::set<std::string> names;
    bool any = false;  // the folder itself is watched: everything in it
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
