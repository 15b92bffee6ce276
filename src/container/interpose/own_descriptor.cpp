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
  const int number = at_high_number(fd);
  const OpenFile file = open_file(number);
  device_.store(file.device, std::memory_order_relaxed);
  inode_.store(file.inode, std::memory_order_relaxed);
  number_.store(number, std::memory_order_release);
}

int OwnDescriptor::get() const {
  const int number = number_.load(std::memory_order_acquire);
  const OpenFile file{device_.load(std::memory_order_relaxed),
                      inode_.load(std::memory_order_relaxed)};
  return number >= 0 && open_file(number) == file ? number : -1;
}

void OwnDescriptor::close() {
  if (const int number = get(); number >= 0) ::close(number);
  number_.store(-1, std::memory_order_relaxed);
}

}  // namespace tranche::interpose
