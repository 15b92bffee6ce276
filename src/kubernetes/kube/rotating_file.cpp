#include "kube/rotating_file.h"

#include <fmt/format.h>

#include "base/fs.h"

namespace tranche::kube {
namespace {

bool same(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

}  // namespace

RotatingFile::Stamp RotatingFile::stamp(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return {};
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim, status.st_ctim};
}

bool RotatingFile::changed() const {
  const auto now = stamp(path_);
  return !seen_ || now.device != seen_->device || now.inode != seen_->inode ||
         now.size != seen_->size || !same(now.written, seen_->written) ||
         !same(now.status_changed, seen_->status_changed);
}

Result<std::string> RotatingFile::read() {
  // The stamp is taken first: if the file is written before the read, the next call reads it again.
  seen_ = stamp(path_);
  ASSIGN_OR_RETURN(auto text, FsRoot().read(path_, std::size_t{1} << 20U));
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty()) {
    return fail(Code::kInvalidArgument, fmt::format("{} is empty", path_.string()));
  }
  return text;
}

}  // namespace tranche::kube
