#pragma once
// What a test program syncs to the disk: fsync() in place of libc's. Only one file of a program may
// include it.

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace tranche::test {

// Every fsync() of this program, in order: "file" or "folder".
inline std::vector<std::string> synced;  // NOLINT: fsync() has no other way to tell
inline int folder_error = 0;             // NOLINT: what the next fsync() of a folder fails with

}  // namespace tranche::test

extern "C" int fsync(int fd) {
  using namespace tranche::test;  // NOLINT
  struct stat status{};
  const bool is_folder = ::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
  synced.emplace_back(is_folder ? "folder" : "file");
  if (is_folder && folder_error != 0) {
    errno = std::exchange(folder_error, 0);
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
