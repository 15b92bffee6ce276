#include "process/signals.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "base/descriptor.h"

namespace tranche::process::signals_test {
namespace {

// Sends `signal` to a process that listens as every program here does; it ends with `code` when it
// sees the signal `code`, and with 99 when the signal did nothing.
[[noreturn]] void take(int signal) {
  const Descriptor signals(open_signals().value_or(-1));
  ::raise(signal);
  const int seen = next_signal(signals.get());
  std::_Exit(seen == 0 ? 99 : seen);
}

TEST(SignalsDeathTest, WhatAsksToEndIsDelivered) {
  for (const int signal : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) {
    EXPECT_EXIT(take(signal), testing::ExitedWithCode(signal), "") << signal;
    EXPECT_EQ(ends_process(signal), signal != SIGHUP);
  }
}

// Each was sent to NVIDIA's programs (v0.20.0), which live on.
TEST(SignalsDeathTest, WhatNvidiasProgramsSurviveDoesNothing) {
  for (const int signal :
       {SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGIO, SIGPWR,
        SIGCHLD, SIGURG, SIGWINCH, SIGCONT, SIGRTMIN + 1, SIGRTMAX}) {
    EXPECT_EXIT(take(signal), testing::ExitedWithCode(99), "") << signal;
  }
}

// And these, of a fault, end both.
TEST(SignalsDeathTest, FaultsEndTheProcess) {
  for (const int signal : {SIGABRT, SIGTRAP, SIGSYS, SIGSTKFLT}) {
    EXPECT_EXIT(take(signal), testing::KilledBySignal(signal), "") << signal;
  }
}

TEST(SignalsDeathTest, AClosedPipeIsAnError) {
  const auto write_to_nobody = [] {
    const Descriptor signals(open_signals().value_or(-1));
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) std::_Exit(1);
    ::close(ends[0]);
    std::_Exit(::write(ends[1], "x", 1) == -1 && errno == EPIPE ? 99 : 2);
  };
  EXPECT_EXIT(write_to_nobody(), testing::ExitedWithCode(99), "");
}

}  // namespace
}  // namespace tranche::process::signals_test
