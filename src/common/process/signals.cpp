#include "process/signals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/descriptor.h"

namespace tranche::process {
namespace {

constexpr auto kIgnored = std::to_array<int>(
    {SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGIO, SIGPWR});

void ignore(int signal) {
  struct sigaction action{};
  action.sa_handler = SIG_IGN;
  (void)::sigaction(signal, &action, nullptr);
}

void ignore_what_would_end() {
  for (const int signal : kIgnored) ignore(signal);
  for (int signal = SIGRTMIN; signal <= SIGRTMAX; ++signal) ignore(signal);
}

}  // namespace

Result<int> open_signals() {
  ignore_what_would_end();
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) ::sigaddset(&set, signal);
  if (const int error = ::pthread_sigmask(SIG_BLOCK, &set, nullptr); error != 0) {
    return std::unexpected(errno_error(error, "block signals"));
  }
  const int fd = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) return std::unexpected(errno_error(errno, "signalfd"));
  return fd;
}

int next_signal(int descriptor) {
  signalfd_siginfo info{};
  if (::read(descriptor, &info, sizeof(info)) != static_cast<ssize_t>(sizeof(info))) return 0;
  return static_cast<int>(info.ssi_signo);
}

bool ends_process(int signal) { return signal == SIGTERM || signal == SIGINT || signal == SIGQUIT; }

bool wait_for_signal(int descriptor, std::chrono::milliseconds time, int also) {
  std::array<pollfd, 2> entries{{{.fd = descriptor, .events = POLLIN, .revents = 0},
                                 {.fd = also, .events = POLLIN, .revents = 0}}};
  (void)!::poll(entries.data(), entries.size(), static_cast<int>(time.count()));
  return !ends_process(next_signal(descriptor));
}

int run_with_signals(const Log& log, const std::function<int(int signals)>& body) {
  const auto opened = open_signals();
  if (!opened) {
    log.error(opened.error());
    return 1;
  }
  const Descriptor signals(*opened);
  return body(signals.get());
}

}  // namespace tranche::process
