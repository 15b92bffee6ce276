#pragma once
// Reads the arbiter's status.json (limit/arbiter_status.h) whenever the file has changed. It does
// not show whether the arbiter is alive: a dead arbiter leaves its file.
//
// Used by one thread.

#include <cstddef>
#include <filesystem>

#include "base/file_identity.h"
#include "base/fs.h"
#include "base/result.h"
#include "limit/arbiter_status.h"

namespace tranche::limit {

class StatusReader {
 public:
  static constexpr std::size_t kLongest = std::size_t{16} << 20U;

  // `state_dir`: the arbiter's state folder.
  explicit StatusReader(const std::filesystem::path& state_dir)
      : file_(state_dir / "status.json") {}

  // True: there was a new status, which status() returns. Each unreadable file gives an error once,
  // and status() then still returns the last status.
  Result<bool> refresh();
  // Empties status() until the next refresh() that reads the file.
  void forget();

  const ArbiterStatus& status() const { return status_; }
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  FsRoot fs_;
  FileIdentity identity_;
  ArbiterStatus status_;
};

}  // namespace tranche::limit
