#pragma once
// Brings GPUs to a layout, from whatever they have: it reads them, makes the way (mig/change.h) and
// takes its steps. So the same call goes on after a crash, and undoes (with the old layout).
// Uses the ports gpu::MigControl and gpu::GpuReset, on the calling thread.

#include <chrono>
#include <functional>
#include <map>
#include <stop_token>

#include "base/clock.h"
#include "base/result.h"
#include "gpu/machine.h"
#include "gpu/mig_control.h"
#include "mig/change.h"

namespace tranche::mig {

struct Hardware {
  gpu::MigControl& control;
  gpu::GpuReset& reset;
  // Of the GPUs of the layout: geometry, PCI address, index.
  const gpu::Machine& machine;
};

struct Watcher {
  // Before each step; `done` of `all` steps are taken.
  std::function<void(const Step& step, std::size_t done, std::size_t all)> step = {};
};

// What every GPU of `of` has now.
Result<Layout> read_layout(gpu::MigControl& control, const std::vector<gpu::GpuUuid>& of);

// A step that fails is tried again from a new reading, `tries` times in all. An error names the
// step, the GPU and what to do; then the GPUs are somewhere between, and the caller applies the old
// layout. kTimeout: `stop` was requested, or `until` passed, between two steps.
Result<void> apply(const Layout& to, const Hardware& hardware, const Watcher& watcher,
                   std::chrono::steady_clock::time_point until, const Clock& clock,
                   const std::stop_token& stop, int tries = 3);

}  // namespace tranche::mig
