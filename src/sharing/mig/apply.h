#pragma once
// Brings GPUs to a layout, from whatever they have: it reads them, makes the way (mig/change.h) and
// takes its steps. So the same call goes on after a crash, and undoes (with the old layout).
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
  // Before each step; `done` of `all` steps are taken. After a failure both count anew.
  std::function<void(const Step& step, std::size_t done, std::size_t all)> step = {};
};

struct Retries {
  int tries = 3;                        // in all
  std::chrono::milliseconds wait{500};  // between two, so that whoever is in the way can end
};

// A change of the MIG mode takes effect at a GPU reset only.
bool mode_needs_reset(const gpu::Gpu& gpu);

// What every GPU of `of` has now.
Result<Layout> read_layout(gpu::MigControl& control, const std::vector<gpu::GpuUuid>& of);

// What GPUs are to get back after a change of them from `from` to `to` failed. A mode that waits on
// a GPU whose mode that change left alone is somebody else's, and stays.
Result<Layout> way_back(const Layout& from, const Layout& to, gpu::MigControl& control);

// Where the mode of a GPU changes, Hardware::quiet is held from before the first step to the end;
// its error ends the change before it begins. A step that fails is tried again from a new reading.
// An error names the step, the GPU and what to do; then the GPUs are somewhere between, and the
// caller applies the old layout. No error: they have `to`, whatever single calls said. Where a
// compute instance finds no place beside those that stay in its GPU instance, all of that GPU
// instance are made anew at the next try, unless somebody uses one.
//   kTimeout      `stop` was requested, or `until` passed, between two steps; or NVML hangs
//   kUnsupported  a MIG mode is in force only after a reboot of this machine
// Other codes are those of gpu::MigControl and gpu::GpuReset.
Result<void> apply(const Layout& to, const Hardware& hardware, const Watcher& watcher,
                   std::chrono::steady_clock::time_point until, const Clock& clock,
                   const std::stop_token& stop, Retries retries = {});

}  // namespace tranche::mig
