#pragma once
// The patterns: what a worker does with the GPU from "go" to the end of its load. Uses one thread.

#include "load/gpu.h"
#include "load/memory.h"
#include "load/stop.h"

namespace tranche::load {

// Runs load.pattern until its duration or count is over, or `stop` is signalled. Fills the report
// with everything done. Error: why the work ended early.
Result<void> do_work(const Load& load, Gpu& gpu, Memory& memory, Stop& stop, Report& report);

}  // namespace tranche::load
