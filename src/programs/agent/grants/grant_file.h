#pragma once
// The file of the grants, one per line. A thread that appends a line waits for that one write() and
// for no other thread. That holds even while the file is replaced by a shorter one, which is synced
// to the disk and may take seconds.
//
// The file is replaced in five steps while lines keep coming. Between any two steps the file under
// the name holds every line whose write() has returned, so a crash loses none.
//   1. begin_replacement(): from here on appended lines are remembered as well;
//   2. the lines to keep are written to a temporary file and synced;
//   3. the remembered lines are written there, again and again until none is left;
//   4. at that moment, without touching the disk, the temporary file becomes the second one: every
//      line from here on is written to both;
//   5. the temporary file takes the name; it is the only file from here on.
// Lines written in steps 3 to 5 are not synced; an appended line never is.
//
// Rejected: a lock over the last round of step 3 and the rename, because threads that append would
// wait for the disk. Segments (grants.<n>.jsonl beside the file), because the version before and
// `tranche cleanup` would not find the lines in them. A queue that one thread writes, because all
// would wait for that thread's disk.
//
// Several threads may write lines of one file at once: the descriptors are O_APPEND, and the kernel
// writes one write() in one piece, unless the disk is full. Each write has an open file description
// of its own, whose offset then says where the line is. So a line that a full disk cut off is
// overwritten with newlines, which takes no room, and nothing is left of it. Another line may have
// come behind it before that. So each writer looks at the byte before its line: if it is no line
// end, it is the last byte of a line that was cut off, and becomes one. Empty lines count as none.
//
// Rejected: to cut the file back (ftruncate()), because a line that another thread appended
// meanwhile, and answered, would be cut off too; a lock over write and cutting back, because
// threads would wait for each other's disk.
//
// Thread-safe, except that there must be one replacement (begin_replacement() and replace()) at a
// time.

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
  // Called before each step that touches the disk. Its error replaces the step's. It is also called
  // after the rename and when a line was cut off, which nothing undoes. A test stops, fails or
  // looks there.
  using OnStep = std::function<Result<void>(Step)>;

  // Opens the file for appending; makes it if need be. The file has `lines` lines.
  static Result<std::unique_ptr<GrantFile>> open(std::filesystem::path path, std::size_t lines,
                                                 OnStep on_step);

  // A line to be written, and the files that it goes to.
  class Line {
   public:
    Line() = default;

   private:
    friend class GrantFile;
    std::string text_;
    std::shared_ptr<Output> file_;
    std::shared_ptr<Output> second_;
  };
  // Prepares a line, with its newline, without touching the disk; write() must follow. Lines taken
  // after begin_replacement() are in the new file, too.
  Line take(std::string text);
  // After an error the line is in no file.
  Result<void> write(const Line& line);
  std::size_t lines() const;

  // `kept`: how many lines the new file begins with.
  void begin_replacement(std::size_t kept);
  // Ends the replacement that begin_replacement() began. After an error the file is what it was,
  // or it is replaced and its name not safe from a power cut.
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
  std::shared_ptr<Output> next_;  // steps 4 and 5
  std::size_t next_lines_ = 0;
};

}  // namespace tranche::agent
