#pragma once
// Brings GPUs to a layout, whatever they have now: it reads them, plans the steps (mig/change.h)
// and takes them. So the same call resumes after a crash, and undoes a change (given the old
// layout).
// Uses the ports gpu::MigControl and gpu::GpuReset, on the calling thread.

#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "gpu/mig_control.h"
#include "mig/change.h"
#include "mig/hardware.h"

namespace tranche::mig {

struct Watcher {
  // Before each step; `done` of `all` steps are taken. After a failure both are counted anew.
  std::function<void(const Step& step, std::size_t done, std::size_t all)> step = {};
};

struct Retries {
  int tries = 3;                        // in total
  std::chrono::milliseconds wait{500};  // between two tries, so that processes in the way can end
};

// Whether a change of MIG mode takes effect only at a GPU reset.
bool mode_needs_reset(const gpu::Gpu& gpu);

// The current layout of every GPU in `of`.
Result<Layout> read_layout(gpu::MigControl& control, const std::vector<gpu::GpuUuid>& of);

// The layout that GPUs should return to after their change from `from` to `to` failed. A pending
// mode on a GPU whose mode that change left alone was set by someone else, and stays.
Result<Layout> way_back(const Layout& from, const Layout& to, gpu::MigControl& control);

// Where a GPU's mode changes, Hardware::quiet is held from before the first step to the end; its
// error ends the change before it begins. A failed step is tried again after a new reading. An
// error names the step, the GPU and what to do; the GPUs are then in an intermediate state, and the
// caller applies the old layout. No error: they have `to`, whatever single calls returned. If a
// compute instance finds no room next to those that stay in its GPU instance, the next try
// recreates all of that GPU instance's compute instances, unless one is in use.
//   kTimeout      `stop` was requested, or `until` passed, between two steps; or NVML hangs
//   kUnsupported  a MIG mode takes effect only after a reboot of this machine
// Other codes are those of gpu::MigControl and gpu::GpuReset.
Result<void> apply(const Layout& to, const Hardware& hardware, const Watcher& watcher,
                   std::chrono::steady_clock::time_point until, const Clock& clock,
                   const std::stop_token& stop, Retries retries = {});

}  // namespace tranche::mig
