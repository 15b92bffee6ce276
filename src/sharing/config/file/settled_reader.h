#pragma once
// Reads a configuration file that may be rewritten in place meanwhile. Half of a configuration is
// often a valid one: "version: v1" shares nothing. So a file counts only when it is complete:
//
// - no process has it open for writing, and it did not change while it was read (FsRoot::observe);
// - a file that was changed in place has been unchanged for kQuiet: a script writes it in several
//   steps;
// - it was not emptied in place, or commented out: that removes all sharing, and is seldom
//   intended. To disable sharing, write "version: v1".
//
// A different file under the same path (renamed over it, a new version of a ConfigMap volume, a
// link to /dev/null) is complete at once, whatever it contains.
//
// One reader per place; it remembers the last file that counted. Used by one thread.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/fs.h"
#include "config/file/source.h"

namespace tranche::config {

class SettledReader {
 public:
  static constexpr std::chrono::seconds kQuiet{1};
  // A process that keeps a file open for writing this long without writing is not rewriting it.
  static constexpr std::chrono::seconds kForgotten{60};

  // Like read_config(). kUnavailable: the file is being rewritten; read again after kQuiet.
  // kInvalidArgument also: the file was emptied (yaml::says_nothing).
  Result<ConfigText> read(const FsRoot& fs, const std::filesystem::path& path,
                          std::string_view name, const Clock& clock);
  // Whether the last read() failed because the file is being rewritten.
  bool rewriting() const { return rewriting_; }

 private:
  Result<void> check(const FileReading& reading, const std::string& name, const Clock& clock);

  std::optional<FileReading> last_;  // the last one that counted
  bool rewriting_ = false;
};

}  // namespace tranche::config
