#pragma once
// How soon the arbiter's thread runs when it is called while all processors are busy.

#include <chrono>

namespace tranche::arbiter {

inline constexpr std::chrono::nanoseconds kShortSlice = std::chrono::microseconds(100);

// Asks the scheduler to give the calling thread its time in pieces of kShortSlice: who asks for
// little at once goes before those in the midst of longer ones (EEVDF with slices of a task's own,
// Linux 6.12; takes no privilege). Else it may wait for another's slice to end, some 3 ms. An older
// kernel takes no notice.
void ask_for_short_slices();

}  // namespace tranche::arbiter
