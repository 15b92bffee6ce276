#include "interpose/own_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

#include "interpose/own_descriptor.h"

namespace tranche::interpose {
namespace {

using std::size_t;

// The identity of the folder at a path.
class Folder {
 public:
  explicit Folder(const char* path) {
    const int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) return;
    file_ = open_file(fd);
    close(fd);
  }
  bool is_there() const { return file_ != OpenFile(); }
  bool is_same(const Folder& other) const { return file_ == other.file_; }

 private:
  OpenFile file_{};
};

enum class Answer { kYes, kNo, kUnreported };

// "mnt:[4026531841]", as the kernel names a namespace.
Answer is_in_our_mounts(unsigned pid) {
  char path[48];
  char ours[64];
  char its[64];
  snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
  const auto our_length = readlink("/proc/self/ns/mnt", ours, sizeof(ours));
  const auto its_length = readlink(path, its, sizeof(its));
  if (its_length < 0) return errno == EACCES || errno == EPERM ? Answer::kUnreported : Answer::kNo;
  if (our_length < 0) return Answer::kUnreported;
  const bool is_same =
      our_length == its_length && memcmp(ours, its, static_cast<size_t>(its_length)) == 0;
  return is_same ? Answer::kYes : Answer::kNo;
}

// Whether the folder that it sees is ours. A path into a file system that does not respond is not a
// grant's.
bool has_our_folder(unsigned pid, const char* folder) {
  char path[160];
  const int length = snprintf(path, sizeof(path), "/proc/%u/root%s", pid, folder);
  if (length < 0 || static_cast<size_t>(length) >= sizeof(path)) return false;
  const Folder ours(folder);
  const Folder its(path);
  return ours.is_there() && ours.is_same(its);
}

// Up to `size` bytes; -1: it cannot be read.
ssize_t read_whole(int fd, char* buffer, size_t size) {
  size_t length = 0;
  while (length < size) {
    const auto count = read(fd, buffer + length, size - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    length += static_cast<size_t>(count);
  }
  return static_cast<ssize_t>(length);
}

// Compared piecewise, because with version 1 there are many.
bool have_same_text(int one, int other) {
  char a[256];
  char b[256];
  for (;;) {
    const auto length = read_whole(one, a, sizeof(a));
    if (length < 0 || read_whole(other, b, sizeof(b)) != length) return false;
    if (memcmp(a, b, static_cast<size_t>(length)) != 0) return false;
    if (static_cast<size_t>(length) < sizeof(a)) return true;
  }
}

bool is_in_our_groups(unsigned pid) {
  char path[48];
  snprintf(path, sizeof(path), "/proc/%u/cgroup", pid);
  const int ours = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
  const int its = open(path, O_RDONLY | O_CLOEXEC);
  const bool is_same = ours >= 0 && its >= 0 && have_same_text(ours, its);
  if (ours >= 0) close(ours);
  if (its >= 0) close(its);
  return is_same;
}

}  // namespace

bool is_of_this_container(unsigned pid, const char* folder) {
  if (pid == static_cast<unsigned>(getpid())) return true;
  switch (is_in_our_mounts(pid)) {
    case Answer::kYes:
      return true;
    case Answer::kNo:
      return has_our_folder(pid, folder);
    case Answer::kUnreported:
      break;
  }
  return is_in_our_groups(pid);
}

}  // namespace tranche::interpose
