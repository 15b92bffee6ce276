#pragma once
// A small file that somebody else replaces now and then: a token, a certificate. Kubernetes swaps a
// mounted Secret by a link above the file, so what counts is the file that the path leads to.
// A value; used by one thread at a time.

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace tranche::kube {

class RotatingFile {
 public:
  explicit RotatingFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Whether what the path leads to is another file, or was written, since the last read().
  bool changed() const;
  // The whole file, without space at its end. kInvalidArgument when it is empty.
  Result<std::string> read();

 private:
  struct Stamp {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec written = {};
    timespec status_changed = {};
  };
  static Stamp stamp(const std::filesystem::path& path);

  std::filesystem::path path_;
  std::optional<Stamp> seen_;
};

}  // namespace tranche::kube
