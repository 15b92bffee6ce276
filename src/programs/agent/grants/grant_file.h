#pragma once
// The file of the grants, one per line. A thread that appends waits for its own write() and for no
// other thread, even while the file is replaced by a shorter one, which is synced and may take
// seconds.
//
// The file is replaced in five steps while lines keep coming. Between any two, the file under the
// name has every line whose write() has returned, so a crash loses none.
//   1. begin_replacement(): from here on appended lines are also remembered;
//   2. the lines to keep are written to a temporary file and synced;
//   3. the remembered lines are written there, until none is left;
//   4. at that moment, without touching the disk, the temporary file becomes the second one: every
//      line from here on is written to both;
//   5. the temporary file takes the name, and is the only file from here on.
// Lines written in steps 3 to 5 are not synced; an appended line never is.
//
// Rejected: a lock over the last round of step 3 and the rename, because appending threads would
// wait for the disk. Segments (grants.<n>.jsonl), because the previous version and `tranche
// cleanup` would not find the lines in them. A queue with one writing thread, because all would
// wait for its disk.
//
// Several threads may write to one file: the descriptors are O_APPEND, and the kernel writes one
// write() in one piece, unless the disk is full. Each write has its own open file description,
// whose offset then says where the line is. So a line that a full disk cut off is overwritten with
// newlines, which takes no room; empty lines are ignored. Another line may have been appended to it
// before that, so each writer also turns the byte before its line into a line end if it is none.
//
// Rejected: ftruncate(), which would also remove a line that another thread has appended and
// answered; a lock over write and truncation, because threads would wait for each other's disk.
//
// Thread-safe, except that there must be only one replacement (begin_replacement() and replace())
// at a time.

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tranche::agent {

class GrantFile {
  class Output;

 public:
  enum class Step { kAppend, kCutOff, kCreate, kFill, kSync, kCatchUp, kRename, kRenamed };
  // Called before each step that touches the disk; its error replaces the step's. Also called after
  // the rename and after a line was cut off, which nothing undoes. For tests, which stop, fail or
  // look there.
  using OnStep = std::function<Result<void>(Step)>;

  // Opens the file for appending; creates it if needed. The file has `lines` lines.
  static Result<std::unique_ptr<GrantFile>> open(std::filesystem::path path, std::size_t lines,
                                                 OnStep on_step);

  // A line, and the files that it goes to.
  class Line {
   public:
    Line() = default;

   private:
    friend class GrantFile;
    std::string text_;
    std::shared_ptr<Output> file_;
    std::shared_ptr<Output> second_;
  };
  // Prepares a line, including its newline, without touching the disk; write() must follow. Lines
  // taken after begin_replacement() are in the new file, too.
  Line take(std::string text);
  // After an error the line is in no file.
  Result<void> write(const Line& line);
  std::size_t lines() const;

  // `kept`: number of lines that the new file begins with.
  void begin_replacement(std::size_t kept);
  // Ends the replacement. After an error the file is unchanged, or replaced with a name that a
  // power cut may lose.
  Result<void> replace(std::string_view content, bool sync);

 private:
  GrantFile(std::filesystem::path path, std::size_t lines, OnStep on_step);
  Result<void> step(Step step) const;
  Result<off_t> append(Output& file, const std::string& text) const;
  Result<void> end_line_before(const Output& file, int reader, off_t at) const;
  void blank(const Output& file, off_t at, std::size_t size) const;
  Result<void> fill(const std::string& name, Output& file, std::string_view content, bool sync);
  std::shared_ptr<Output> end_replacement(bool done);
  Result<void> catch_up(const std::string& name, const std::shared_ptr<Output>& file);

  const std::filesystem::path path_;
  const OnStep on_step_;
  mutable std::mutex mutex_;  // guards the members below; never held while the disk is touched
  std::shared_ptr<Output> file_;
  std::size_t lines_;
  bool remembers_ = false;        // steps 1 to 3
  std::string remembered_;        // lines that are not in the temporary file yet
  std::shared_ptr<Output> next_;  // in steps 4 and 5
  std::size_t next_lines_ = 0;
};

}  // namespace tranche::agent
