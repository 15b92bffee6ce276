#include "agent/node_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace tranche::agent {

Result<std::unique_ptr<NodeLock>> NodeLock::take(const std::filesystem::path& file,
                                                 const std::function<bool()>& waiting) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return std::unexpected(errno_error(errno, "open " + file.string()));
  std::unique_ptr<NodeLock> lock(new NodeLock(fd));
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return std::unexpected(errno_error(errno, "lock " + file.string()));
    }
    if (!waiting()) return nullptr;
  }
  return lock;
}

NodeLock::~NodeLock() { ::close(fd_); }

}  // namespace tranche::agent
