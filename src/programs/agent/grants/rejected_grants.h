#pragma once
// Lines of the grants' file that could not be read, set aside in <dir>/rejected.jsonl. Each may be
// the grant of a container that runs, so as long as there are any, the files of grants that are not
// known are not swept. Not thread-safe.

#include <filesystem>
#include <string>

#include "base/fs.h"
#include "base/result.h"

namespace tranche::agent {

class RejectedGrants {
 public:
  explicit RejectedGrants(std::filesystem::path file) : file_(std::move(file)) {}

  const std::filesystem::path& file() const { return file_; }
  bool any() const { return !unwritten_.empty() || fs_.exists(file_); }
  // Takes a line without its end; write() writes it.
  void take(std::string_view line) { unwritten_.append(line).append("\n"); }
  // Appends the lines taken, and syncs them. After an error the file is what it was, and they are
  // written by the next call.
  Result<void> write();
  // Forgets them all.
  Result<void> remove();

 private:
  std::filesystem::path file_;
  FsRoot fs_;
  std::string unwritten_;
};

}  // namespace tranche::agent
