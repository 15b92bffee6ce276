#pragma once
// Tracks which of this process's work has ended on the GPU, and how long it took. Used under the
// gate's lock (gate.cpp).
//
// Work of several streams overlaps: by its events, work queued behind another stream's work on the
// GPU began when it was queued. So pairs are processed in the order of their ends, and each gets
// the time not covered by a previous one. The sum is the time in which this process had work on the
// GPU, whether its streams ran one after another or in parallel.

#include "interpose/queues.h"

namespace tranche::interpose {

// Reports what has ended, and since when the rest has been running. Never waits for the GPU.
void harvest_locked();

// In a forked child.
void forget_harvest();

}  // namespace tranche::interpose
