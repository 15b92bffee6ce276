#include "interpose/system.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interpose/keep_errno.h"
#include "interpose/own_descriptor.h"

namespace tranche::interpose {

std::uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

void nap_ns(std::uint64_t ns) {
  const timespec nap{static_cast<time_t>(ns / 1'000'000'000),
                     static_cast<long>(ns % 1'000'000'000)};
  const KeepErrno keep_errno;
  syscall(SYS_nanosleep, &nap, nullptr);  // the C library's is a cancellation point
}

namespace {
OpenFile stderr_file;
}

void note_stderr() { stderr_file = open_file(STDERR_FILENO); }

void say(const char* text, unsigned* once) {
  if (stderr_file == OpenFile()) note_stderr();
  if (open_file(STDERR_FILENO) != stderr_file) return;
  if (once != nullptr && __atomic_exchange_n(once, 1, __ATOMIC_RELAXED) != 0) return;
  char line[256] = "tranche: ";
  size_t length = strlen(line);
  for (; *text != 0 && length < sizeof(line) - 1; ++text) line[length++] = *text;
  line[length++] = '\n';
  const KeepErrno keep_errno;
  syscall(SYS_write, STDERR_FILENO, line, length);
}

}  // namespace tranche::interpose
