#pragma once
// The layout that GPUs get again after a reboot (MigKept), and changes that a reboot does not
// explain: what somebody set by hand stays. Pure.

#include "agent/mig/mig_machine.h"
#include "agent/mig/mig_progress.h"
#include "gpu/machine.h"
#include "mig/layout.h"

namespace tranche::agent {

// What is kept after that outcome of a wish.
MigKept kept_after(const MigOutcome& outcome, const MigProgress& progress);

// What is kept at rest: the GPUs have what is asked for, or the wish failed and is not repeated.
// progress.outcome is set.
MigKept kept_at_rest(const MigFacts& facts, const MigProgress& progress);

// Whether somebody set the GPU's mode since a reboot, or for it: a reboot alone does not turn the
// mode in `before` into the one in `now`.
bool is_set_since(const mig::GpuLayout& before, const mig::GpuLayout& now, const gpu::Gpu& gpu);

// Those GPUs, as they are.
mig::Layout set_by_others(const mig::Layout& were, const mig::Layout& are,
                          const gpu::Machine& machine);

// Whether all GPUs of the plan have the mode that it needs, some of them since `kept`.
bool has_mode_come(const MigPlan& plan, const mig::Layout& present, const MigKept& kept);

}  // namespace tranche::agent
