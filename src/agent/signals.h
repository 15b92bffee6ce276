#pragma once
// Signals as a descriptor to poll.

#include "base/result.h"

namespace tranche::agent {

// Blocks SIGTERM, SIGINT, SIGQUIT and SIGHUP for this thread and those it will start, and returns a
// descriptor that delivers them. Call before any thread is started.
Result<int> open_signals();

// The next signal that waits, 0 when none does.
int next_signal(int descriptor);

// Whether a signal asks the process to end: SIGTERM, SIGINT, SIGQUIT.
bool ends_process(int signal);

}  // namespace tranche::agent
