#pragma once
// Signals as a descriptor to poll.

#include <chrono>
#include <functional>

#include "base/log.h"
#include "base/result.h"

namespace tranche::process {

// Blocks SIGTERM, SIGINT, SIGQUIT and SIGHUP for this thread and those it will start, and returns a
// descriptor that delivers them. Call before any thread is started.
Result<int> open_signals();

// The next signal that waits, 0 when none does.
int next_signal(int descriptor);

// Whether a signal asks the process to end: SIGTERM, SIGINT, SIGQUIT.
bool ends_process(int signal);

// Waits for a signal, at most `time`; false: it asks the process to end.
bool wait_for_signal(int descriptor, std::chrono::milliseconds time);

// How each program here runs: signals are a descriptor before any thread is started, `body` runs
// with it and answers the exit code, then it is closed. 1 when there can be no descriptor.
int run_with_signals(const Log& log, const std::function<int(int signals)>& body);

}  // namespace tranche::process
