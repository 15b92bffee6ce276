#pragma once
// Signals as a descriptor to poll.

#include <chrono>
#include <functional>

#include "base/log.h"
#include "base/result.h"

namespace tranche::process {

// Blocks SIGTERM, SIGINT, SIGQUIT and SIGHUP for this thread and for the threads that it starts
// later. Returns a descriptor that delivers them. Call it before any thread is started.
//
// Ignores the signals that tell a program something and would end it though it does not listen:
// SIGUSR1, SIGUSR2, SIGPIPE, timers, SIGPWR, real-time signals. NVIDIA's programs survive them, for
// so does every Go program. The programs that this process starts have the defaults again
// (host/child.h).
Result<int> open_signals();

// The next waiting signal; 0: none.
int next_signal(int descriptor);

// Whether a signal asks the process to end: SIGTERM, SIGINT, SIGQUIT.
bool ends_process(int signal);

// Waits for a signal, at most `time`, or until `also`, another descriptor, is readable (below 0:
// none). False: a signal asks the process to end.
bool wait_for_signal(int descriptor, std::chrono::milliseconds time, int also = -1);

// Runs a program. It makes the descriptor of signals before any thread is started, runs `body` with
// it, closes it and returns the exit code of `body`. 1: there is no descriptor.
int run_with_signals(const Log& log, const std::function<int(int signals)>& body);

}  // namespace tranche::process
