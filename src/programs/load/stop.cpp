#include "load/stop.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace tranche::load {

Stop::Stop(int fd) {
  std::array<int, 2> pipe = {-1, -1};
  // Without a pipe the destructor could not end the thread, so there is none: the work stops now.
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) {
    told_ = true;
    return;
  }
  wake_ = pipe[1];
  thread_ = std::jthread([this, fd, wake = pipe[0]] { watch(fd, wake); });
}

Stop::~Stop() {
  if (wake_ >= 0) ::close(wake_);
}

void Stop::watch(int fd, int wake) {
  std::array<pollfd, 2> both = {pollfd{fd, POLLIN, 0}, pollfd{wake, POLLIN, 0}};
  for (;;) {
    if (::poll(both.data(), both.size(), -1) < 0 && errno == EINTR) continue;
    std::array<char, 64> ignored = {};
    if (both[1].revents == 0 && ::read(fd, ignored.data(), ignored.size()) > 0) continue;
    break;
  }
  ::close(wake);
  const std::scoped_lock lock(mutex_);
  told_ = true;
  changed_.notify_all();
}

void Stop::sleep(nanoseconds time) {
  if (time <= nanoseconds(0)) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [&] { return told(); });
}

void Stop::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return told(); });
}

}  // namespace tranche::load
