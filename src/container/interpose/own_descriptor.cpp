#include "interpose/own_descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpose/keep_errno.h"

namespace tranche::interpose {
namespace {

// Below select()'s limit, and so that the kernel's table of a process does not grow further.
constexpr rlim_t kMost = 1024;

int at_high_number(int fd) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return fd;
  const rlim_t end = limit.rlim_cur < kMost ? limit.rlim_cur : kMost;
  // A syscall, because fcntl has several symbol versions.
  const long high = syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, end - end / 16);
  if (high < 0) return fd;  // all are taken, or the limit was lowered
  ::close(fd);
  return static_cast<int>(high);
}

}  // namespace

OpenFile open_file(int fd) {
  const KeepErrno keep_errno;
  struct stat status{};  // fstat has that name only since glibc 2.33
  if (syscall(SYS_fstat, fd, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

void OwnDescriptor::take(int fd) {
  close();
  number_ = at_high_number(fd);
  file_ = open_file(number_);
}

int OwnDescriptor::get() const {
  return number_ >= 0 && open_file(number_) == file_ ? number_ : -1;
}

void OwnDescriptor::close() {
  if (get() >= 0) ::close(number_);
  number_ = -1;
}

}  // namespace tranche::interpose
