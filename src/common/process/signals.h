#pragma once
// Signals as a pollable descriptor.

#include <chrono>
#include <functional>

#include "base/log.h"
#include "base/result.h"

namespace tranche::process {

// Blocks SIGTERM, SIGINT, SIGQUIT and SIGHUP for this thread and the threads that it
// starts later. Returns a descriptor that delivers them. Call it before starting any
// thread.
//
// Ignores signals that would terminate a program that does not handle them: SIGUSR1,
// SIGUSR2, SIGPIPE, timers, SIGPWR, real-time signals. NVIDIA's programs survive them, as
// every Go program does. Child processes have the defaults again (host/child.h).
Result<int> open_signals();

// The next pending signal; 0: none.
int next_signal(int descriptor);

// Whether a signal asks the process to terminate: SIGTERM, SIGINT, SIGQUIT.
bool ends_process(int signal);

// Waits for a signal, at most `time`, or until another descriptor, `also`, is readable (below 0:
// none). False: a signal asks the process to terminate.
bool wait_for_signal(int descriptor, std::chrono::milliseconds time, int also = -1);

// Runs a program. It creates the signal descriptor before any thread starts, runs `body` with it,
// closes it and returns the exit code of `body`. 1: the descriptor could not be created.
int run_with_signals(const Log& log, const std::function<int(int signals)>& body);

}  // namespace tranche::process
