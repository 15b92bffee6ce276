#pragma once
// What the arbiter last said of itself: its status.json (limit/arbiter_status.h), read again when
// the file has changed. Whether the arbiter lives is for others to find out: a dead one leaves its
// file.
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

  // `state_dir`: the arbiter's.
  explicit StatusReader(const std::filesystem::path& state_dir)
      : file_(state_dir / "status.json") {}

  // True: there was something new, and status() says it. An error comes once for each file that
  // cannot be read; status() goes on saying what was known.
  Result<bool> refresh();
  // Until the next refresh() that reads, status() says nothing.
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
