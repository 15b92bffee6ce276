#include "lab/demo/interrupt.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

namespace tranche::demo {

Result<Interrupt> Interrupt::open() {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, one);
  std::signal(SIGPIPE, SIG_IGN);
  if (::pthread_sigmask(SIG_BLOCK, &set, nullptr) != 0) {
    return std::unexpected(errno_error(errno, "block signals"));
  }
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return std::unexpected(errno_error(errno, "signalfd"));
  return Interrupt(fd);
}

Interrupt::Interrupt(Interrupt&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), signal_(other.signal_) {}

Interrupt::~Interrupt() {
  if (fd_ >= 0) ::close(fd_);
}

int Interrupt::signal() {
  signalfd_siginfo info{};
  if (signal_ == 0 && ::read(fd_, &info, sizeof info) == sizeof info) {
    signal_ = static_cast<int>(info.ssi_signo);
  }
  return signal_;
}

bool Interrupt::wait(std::chrono::milliseconds time) {
  pollfd one{.fd = fd_, .events = POLLIN, .revents = 0};
  if (signal() == 0) ::poll(&one, 1, static_cast<int>(time.count()));
  return signal() != 0;
}

bool Interrupt::wait_readable(int descriptor) {
  std::array<pollfd, 2> both{{{.fd = fd_, .events = POLLIN, .revents = 0},
                              {.fd = descriptor, .events = POLLIN, .revents = 0}}};
  while (signal() == 0) {
    const int ready = ::poll(both.data(), both.size(), -1);
    if (ready < 0 && errno != EINTR) return true;
    if (ready > 0 && both[1].revents != 0 && signal() == 0) return true;
  }
  return false;
}

}  // namespace tranche::demo
