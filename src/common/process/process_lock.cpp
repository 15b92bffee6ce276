#include "process/process_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

#include "process/signals.h"

namespace tranche::process {
namespace {

// Whether `fd` is (still) the file named `file`.
bool has_name(int fd, const std::filesystem::path& file) {
  struct stat open_one{};
  struct stat named{};
  return ::fstat(fd, &open_one) == 0 && ::stat(file.c_str(), &named) == 0 &&
         open_one.st_ino == named.st_ino && open_one.st_dev == named.st_dev;
}

}  // namespace

Result<std::unique_ptr<ProcessLock>> ProcessLock::take(const std::filesystem::path& file,
                                                       const std::function<bool()>& waiting) {
  const auto open_it = [&] { return ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); };
  bool waited = false;
  while (true) {
    int fd = open_it();
    if (fd < 0 && errno == ENOENT && waited) {
      // Who held the lock removed the folder too.
      std::error_code ignored;  // then the open fails again
      std::filesystem::create_directories(file.parent_path(), ignored);
      fd = open_it();
    }
    if (fd < 0) return std::unexpected(errno_error(errno, "open " + file.string()));
    std::unique_ptr<ProcessLock> lock(new ProcessLock(fd));
    while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK && errno != EINTR) {
        return std::unexpected(errno_error(errno, "lock " + file.string()));
      }
      waited = true;
      if (!waiting()) return nullptr;
    }
    if (has_name(fd, file)) return lock;
  }
}

Result<std::unique_ptr<ProcessLock>> ProcessLock::take(
    const std::filesystem::path& file, int signals,
    const std::function<bool(bool first)>& waiting) {
  bool first = true;
  return take(file, [&] {
    return waiting(std::exchange(first, false)) && wait_for_signal(signals, kRetry);
  });
}

std::unique_ptr<ProcessLock> ProcessLock::adopt(Descriptor& fd, const std::filesystem::path& file) {
  if (!has_name(fd.get(), file)) return nullptr;
  return std::unique_ptr<ProcessLock>(new ProcessLock(fd.release()));
}

bool ProcessLock::is_held(const std::filesystem::path& file) {
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  return fd.is_open() && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

}  // namespace tranche::process
