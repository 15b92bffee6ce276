#pragma once
// From what is wished of GPUs to the layout that they shall have, beside what they have now. Pure.

#include <functional>
#include <map>

#include "base/result.h"
#include "gpu/machine.h"
#include "mig/layout.h"

namespace tranche::mig {

// Whether somebody uses an instance that the GPU has.
using IsHeld = std::function<bool(const gpu::GpuUuid& gpu, const Instance& instance)>;

// The layout of each GPU of `wishes`, with as many of the present instances in it as can be, those
// that are held first. Where the GPU has what is wished it is what it has.
// kInvalidArgument: a GPU lacks a profile, or has no place for all; the hint names the nearest
// wishes that it can meet. kNotFound: a GPU is not of the machine, or not in `present`.
Result<Layout> target_of(const std::map<gpu::GpuUuid, GpuWish>& wishes, const gpu::Machine& machine,
                         const Layout& present, const IsHeld& is_held = {});

}  // namespace tranche::mig
