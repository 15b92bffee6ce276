#include "sim/state/liveness.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace tranche::sim {
namespace {

struct flock byte_of(unsigned slot, short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = kSlotLockBase + slot;
  lock.l_len = 1;
  return lock;
}

// Field 22 of /proc/self/stat; the name in field 2 may hold spaces and brackets.
std::uint64_t own_start_time() {
  const int fd = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[1024] = {};
  const ssize_t length = ::read(fd, text, sizeof text - 1);
  ::close(fd);
  if (length <= 0) return 0;
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at + 1, nullptr, 10);
}

}  // namespace

Result<int> open_lock_file(const std::string& state_path) {
  static std::mutex mutex;
  // By inode: two paths may name one file. Leaked on purpose, like the descriptors in it.
  static auto& opened = *new std::map<std::pair<dev_t, ino_t>, int>;
  const std::scoped_lock lock(mutex);
  const std::string path = state_path + ".lock";
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0) {
    const auto known = opened.find({info.st_dev, info.st_ino});
    if (known != opened.end()) return known->second;
  }
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return std::unexpected(errno_error(errno, "open " + path));
  if (::fstat(fd, &info) != 0) {
    const int error = errno;
    ::close(fd);
    return std::unexpected(errno_error(error, "stat " + path));
  }
  // Containers of other users take part. Fails if another user owns the file, who has done it.
  std::ignore = ::fchmod(fd, 0666);
  opened[{info.st_dev, info.st_ino}] = fd;
  return fd;
}

bool lock_slot(int fd, unsigned slot) {
  struct flock lock = byte_of(slot, F_WRLCK);
  return ::fcntl(fd, F_SETLK, &lock) == 0;
}

void unlock_slot(int fd, unsigned slot) {
  struct flock lock = byte_of(slot, F_UNLCK);
  std::ignore = ::fcntl(fd, F_SETLK, &lock);
}

std::optional<pid_t> slot_owner(int fd, unsigned slot) {
  struct flock lock = byte_of(slot, F_WRLCK);
  if (::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid;
}

Self current_self() {
  // Determined at each check of which processes are alive. A forked child is another process.
  thread_local Self known = {};
  if (known.pid == static_cast<std::uint64_t>(::getpid())) return known;
  struct stat space = {};
  std::ignore = ::stat("/proc/self/ns/pid", &space);
  known = {.pid_namespace = space.st_ino,
           .start_time = own_start_time(),
           .pid = static_cast<std::uint64_t>(::getpid())};
  return known;
}

bool operator==(const Self& a, const Self& b) {
  return a.pid == b.pid && a.start_time == b.start_time && a.pid_namespace == b.pid_namespace;
}

}  // namespace tranche::sim
