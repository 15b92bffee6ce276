#pragma once
// From the wishes for GPUs to their target layout, considering their current one. Pure.

#include <functional>
#include <map>

#include "base/result.h"
#include "gpu/machine.h"
#include "mig/layout.h"

namespace tranche::mig {

// Whether an instance of the GPU is in use.
using IsHeld = std::function<bool(const gpu::GpuUuid& gpu, const Instance& instance)>;

// The layout of each GPU of `wishes`, keeping as many of the present instances as possible, those
// in use first. A GPU that already meets its wish keeps its layout.
// kInvalidArgument: a GPU lacks a profile, or has no room for all; the hint names the nearest
// wishes that it can meet. kNotFound: a GPU is not in the machine, or not in `present`.
Result<Layout> target_of(const std::map<gpu::GpuUuid, GpuWish>& wishes, const gpu::Machine& machine,
                         const Layout& present, const IsHeld& is_held = {});

}  // namespace tranche::mig
