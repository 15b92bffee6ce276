#pragma once
// What of this process's work has ended on the GPU, and how long it took. Used under the gate's
// lock (gate.cpp).
//
// Work of several streams overlaps: what stands behind another stream's work on the GPU began, by
// its events, when it was queued. So pairs are taken in the order of their ends, and each has what
// none before it covered. The sum is the time in which this process had work on the GPU, whether
// its streams ran one after the other or side by side.

#include "interpose/queues.h"

namespace tranche::interpose {

// Reports what has ended, and since when the rest runs. Never waits for the GPU.
void harvest_locked();

// In a forked child.
void forget_harvest();

}  // namespace tranche::interpose
