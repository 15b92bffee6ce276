// Closes the descriptors that it did not open, and opens files of its own under their numbers.
// Argument: what it opens there ("nothing", "file", "socket").
#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cuda_calls.h"

namespace {

// Numbers of sockets and of memory: the simulated driver has neither.
std::vector<int> not_ours() {
  std::vector<int> found;
  DIR* folder = opendir("/proc/self/fd");
  while (const dirent* entry = readdir(folder)) {
    char target[256] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), target, sizeof(target) - 1) < 0) continue;
    if (std::strncmp(target, "socket:", 7) == 0 || std::strncmp(target, "/memfd:", 7) == 0)
      found.push_back(std::atoi(entry->d_name));
  }
  closedir(folder);
  return found;
}

struct Own {
  int number = -1;
  int other_end = -1;  // of a socket
  ino_t inode = 0;
};

ino_t inode_of(int fd) {
  struct stat status{};
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

Own open_at(int number, const std::string& what) {
  int ends[2] = {-1, -1};
  if (what == "socket") {
    OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
  } else {
    ends[0] = fileno(tmpfile());
    expect(static_cast<int>(pwrite(ends[0], "mine", 4, 0)), 4, "write");
  }
  expect(dup2(ends[0], number), number, "dup2");
  close(ends[0]);
  return {number, ends[1], inode_of(number)};
}

void expect_untouched(const Own& own) {
  expect(inode_of(own.number) == own.inode, 1, "it is open still");
  char text[16] = {};
  if (own.other_end < 0) {
    expect(static_cast<int>(pread(own.number, text, sizeof(text), 0)), 4, "its size");
    expect(std::strcmp(text, "mine"), 0, "its content");
  } else {
    expect(static_cast<int>(recv(own.other_end, text, sizeof(text), MSG_DONTWAIT)), -1, "nothing");
    OK(send(own.other_end, "x", 1, 0) == 1 ? 0 : 1);  // looks like the end of the arbiter
  }
}

}  // namespace

int main(int, char** arguments) {
  const std::string what = arguments[1];
  alarm(60);
  std::printf("%d\n", dup(STDIN_FILENO));
  Cuda cuda;
  std::printf("%d\n", dup(STDIN_FILENO) > 900);
  void* kernel = cuda.spin_kernel();
  std::uint64_t address = 0;
  OK(cuMemAlloc_v2(&address, 64 * kMiB));
  OK(Cuda::spin(kernel, 1000));
  std::vector<Own> own;
  for (const int number : not_ours()) {
    if (what == "nothing") {
      close(number);
    } else {
      own.push_back(open_at(number, what));
    }
  }
  const std::size_t before = not_ours().size();
  for (int looks = 0; looks < 1000 && not_ours().size() < before + 2; ++looks) {
    for (const Own& one : own) expect_untouched(one);
    OK(Cuda::spin(kernel, 1000));
    OK(cuCtxSynchronize());
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  for (const Own& one : own) expect_untouched(one);
  expect(not_ours().size() >= before + 2, 1, "registered again");
  expect(cuMemAlloc_v2(&address, 1024 * kMiB), kOutOfMemory, "limited");
  std::puts("fine");
  std::fflush(stdout);
  char rest = 0;
  (void)!read(STDIN_FILENO, &rest, 1);
}
