#pragma once
// Unreadable lines of the grants' file, moved to <dir>/rejected.jsonl. Each may be the grant of a
// running container, so while there are any, files of unknown grants are not swept. Not
// thread-safe.

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
  void take(std::string_view line) { unwritten_.append(line).append("\n"); }
  // Appends the lines taken, and syncs them. After an error the file is unchanged, and the next
  // call writes them.
  Result<void> write();
  Result<void> remove();

 private:
  std::filesystem::path file_;
  FsRoot fs_;
  std::string unwritten_;
};

}  // namespace tranche::agent
