// Asks NVML, then makes children that use CUDA, as launchers do.
// Arguments: how the children are made (fork, _Fork, clone, spawn, daemon), how many.
#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "cuda_calls.h"

namespace {

pid_t make_child(std::string_view how) {
  if (how == "_Fork") return _Fork();
  if (how == "clone") return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  if (how != "spawn") return fork();
  pid_t child = 0;  // by vfork or clone, and exec
  char* arguments[] = {const_cast<char*>("forks"), const_cast<char*>("work"), nullptr};
  OK(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ));
  return child;
}

// Takes 16 MiB as often as possible, at most `most` times, and counts in `held`.
void take(int most, int& held) {
  std::uint64_t address = 0;
  while (most-- > 0 && cuMemAlloc_v2(&address, 16 * kMiB) == 0) ++held;
  std::printf("%d\n", held * 16);
  std::fflush(stdout);
}

// Waits until stdin ends, without reading it: characters are for another process.
void wait_for_end() {
  pollfd input{STDIN_FILENO, 0, 0};
  while (poll(&input, 1, -1) < 0) {
  }
}

// Takes some memory, and with a character on stdin the rest; keeps it until stdin ends.
int work() {
  Cuda cuda;
  int held = 0;
  char one = 0;
  take(32, held);
  (void)!read(STDIN_FILENO, &one, 1);
  take(1000, held);
  wait_for_end();
  _exit(0);
}

}  // namespace

int main(int, char** arguments) {
  const std::string_view how = arguments[1];
  if (how == "work") return work();
  nvml_memory();
  for (int left = std::atoi(arguments[2]); left > 0; --left) {
    const pid_t child = make_child(how);
    if (child != 0) continue;
    if (how == "daemon" && fork() != 0) _exit(0);
    work();
  }
  wait_for_end();
}
