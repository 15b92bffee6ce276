#pragma once
// A small file that another program replaces from time to time: a token, a certificate. Kubernetes
// replaces a mounted Secret by changing a link above the file, so links are followed and the file
// at their end counts. A value; used by one thread at a time.

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"

namespace tranche::kube {

class RotatingFile {
 public:
  explicit RotatingFile(std::filesystem::path path) : path_(std::move(path)) {}

  // Whether the path leads to a different file than at the last read(), or the file was written
  // since.
  bool changed() const;
  // Reads the whole file; trailing white space is removed. kInvalidArgument: it is empty.
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
