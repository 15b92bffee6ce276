#pragma once
// Has a thread run soon after it is woken, even while all processors are busy.

#include <chrono>

namespace tranche {

inline constexpr std::chrono::nanoseconds kShortSlice = std::chrono::microseconds(100);

// Asks the scheduler for time slices of kShortSlice for the calling thread. Under EEVDF with slices
// of a task's own (Linux 6.12) a task with a short slice runs before tasks with longer ones; this
// takes no privilege. Otherwise the thread may wait about 3 ms for another task's slice to end. An
// older kernel ignores the request.
void ask_for_short_slices();

}  // namespace tranche
