#pragma once
// Remembers on disk which text is being read, so that one whose reading kills the process is
// refused by the next processes instead of killing each of them. The file has "<digest of release
// and text> <times>", and is there only while a text is read. A process may also end during a read
// for another reason, so a text is refused only after kMostTries. Another text, another release or
// a removed file begins anew.
//
// A damaged file counts as one try of any text. If the file cannot be written, nothing is
// remembered.

#include <filesystem>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

class ReadingMark {
 public:
  static constexpr int kMostTries = 2;

  explicit ReadingMark(std::filesystem::path file) : file_(std::move(file)) {}

  // Before a text is read. `name`: of the text, for the message. kInvalidArgument: kMostTries
  // processes have begun to read it, and none has finished.
  Result<void> begin(std::string_view text, std::string_view name) const;
  // After it was read, whatever came of it.
  void end() const;

 private:
  std::filesystem::path file_;
  FsRoot fs_;
};

}  // namespace tranche::agent
