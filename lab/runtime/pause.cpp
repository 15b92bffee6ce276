// tranche-lab-pause: the process of a Pod's sandbox. Waits for a signal to end, and reaps orphans
// in a Pod with one process namespace.

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace {
void collect(int /*signal*/) {
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}
void end(int /*signal*/) { ::_exit(0); }
}  // namespace

int main() {
  std::signal(SIGCHLD, collect);
  std::signal(SIGINT, end);
  std::signal(SIGTERM, end);
  while (true) ::pause();
}
