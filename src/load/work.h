#pragma once
// The patterns: what a process does with the GPU between "go" and the end of its load. One thread.

#include "load/gpu.h"
#include "load/memory.h"
#include "load/stop.h"

namespace tranche::load {

// Runs load.pattern (one of hold, compute, latency, storm, fault) until its duration or its count
// is over, or it is told to stop. Fills the report as far as it came; the error is why it ended
// before.
Result<void> do_work(const Load& load, Gpu& gpu, Memory& memory, Stop& stop, Report& report);

}  // namespace tranche::load
