#pragma once
// The file of the grants, a line each. Whoever appends a line waits for that one write() and for
// nobody else, also while the file is replaced by a shorter one, which goes through to the disk and
// may take seconds.
//
// How it is replaced while lines keep coming; between any two steps the file that has the name
// holds every line whose write() has returned, so a crash loses none:
//   1. begin_replacement(): from here on lines that are appended are remembered as well;
//   2. what is to be kept is written to a temporary file and synced;
//   3. the remembered lines are written there, again and again until none is left;
//   4. at that moment, without touching the disk, the temporary file becomes the second one: every
//      line from here on is written to both;
//   5. the temporary file takes the name; it is the only one from here on.
// Lines written in step 3 to 5 are not synced, as an appended line never is.
//
// Rejected: a lock over the last round of step 3 and the rename, since whoever appends would wait
// for a disk. Segments (grants.<n>.jsonl beside the file), since the version before and
// `tranche cleanup` would not find what lies in them. A queue that one thread writes, since all
// would wait for that thread's disk.
//
// Lines of one file may be written by several threads at once: the descriptors are O_APPEND, and
// the kernel writes one write() in one piece, unless the disk is full. What that cuts off stands
// alone: the next line begins with a newline.
//
// Thread-safe, but for begin_replacement() and replace(): one replacement at a time.

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
  enum class Step { kAppend, kCreate, kFill, kSync, kCatchUp, kRename, kRenamed };
  // Called before each step that touches the disk; its error takes the place of the step's. And
  // after the rename, which nothing undoes. A test stops, fails or looks there.
  using OnStep = std::function<Result<void>(Step)>;

  // Opens the file, which has `lines` lines and ends with one, for appending; makes it if need be.
  static Result<std::unique_ptr<GrantFile>> open(std::filesystem::path path, std::size_t lines,
                                                 OnStep on_step);

  // A line that is to be written, and where.
  class Line {
   public:
    Line() = default;

   private:
    friend class GrantFile;
    std::string text_;
    std::shared_ptr<Output> file_;
    std::shared_ptr<Output> second_;
  };
  // Takes a line, with its newline, without touching the disk; write() follows. Lines that are
  // taken after begin_replacement() are in the new file, too.
  Line take(std::string text);
  Result<void> write(const Line& line);
  std::size_t lines() const;

  // `kept`: how many lines the new file begins with.
  void begin_replacement(std::size_t kept);
  // Ends what begin_replacement() began; after an error the file is what it was.
  Result<void> replace(std::string_view content, bool sync);

 private:
  GrantFile(std::filesystem::path path, std::size_t lines, OnStep on_step);
  Result<void> step(Step step) const;
  Result<void> append(Output& file, const std::string& text) const;
  Result<void> fill(const std::string& name, Output& file, std::string_view content, bool sync);
  std::shared_ptr<Output> end_replacement(bool done);
  Result<void> catch_up(const std::string& name, const std::shared_ptr<Output>& file);

  const std::filesystem::path path_;
  const OnStep on_step_;
  mutable std::mutex mutex_;  // of what follows; never held while the disk is touched
  std::shared_ptr<Output> file_;
  std::size_t lines_;
  bool remembers_ = false;        // steps 1 to 3
  std::string remembered_;        // not in the temporary file yet
  std::shared_ptr<Output> next_;  // steps 4 and 5
  std::size_t next_lines_ = 0;
};

}  // namespace tranche::agent
