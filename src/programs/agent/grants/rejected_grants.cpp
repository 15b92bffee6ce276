#include "agent/grants/rejected_grants.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/sync_folder.h"

namespace tranche::agent {

Result<void> RejectedGrants::write() {
  if (unwritten_.empty()) return {};
  const auto failed = [&](int error) {
    return std::unexpected(errno_error(error, "write " + file_.string()));
  };
  const Descriptor fd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd.is_open()) return failed(errno);
  const off_t end = ::lseek(fd.get(), 0, SEEK_END);
  const ssize_t n = ::write(fd.get(), unwritten_.data(), unwritten_.size());
  int error = n < 0 ? errno : 0;
  if (n >= 0 && n != static_cast<ssize_t>(unwritten_.size())) error = ENOSPC;
  if (error == 0 && ::fsync(fd.get()) != 0) error = errno;
  if (error != 0) {
    // Nobody else writes this file, and truncating works on a full disk.
    if (::ftruncate(fd.get(), end) != 0) error = errno;
    return failed(error);
  }
  unwritten_.clear();
  return sync_folder(file_.parent_path());
}

Result<void> RejectedGrants::remove() {
  TRY(fs_.remove(file_));
  unwritten_.clear();
  return {};
}

}  // namespace tranche::agent
