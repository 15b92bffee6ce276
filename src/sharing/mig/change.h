#pragma once
// The way from the GPUs' current layout to their target layout, as steps that can each be undone.
// Pure. Only GPUs that differ have steps, and only for their differing instances.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "mig/layout.h"

namespace tranche::mig {

struct Step {
  enum class Kind {
    kDestroyCompute,  // `instance.compute[compute]` of the GPU instance at `instance.placement`
    kDestroyGpuInstance,
    kSetModeToCome,  // to `enabled`, which is the current mode or should become pending
    kSetMode,        // to `enabled`
    kReset,          // only if the driver says that the mode needs one
    kCreateGpuInstance,
    kCreateCompute,
  };
  Kind kind = Kind::kSetMode;
  gpu::GpuUuid gpu;
  Instance instance;  // for steps about an instance
  std::size_t compute = 0;
  bool enabled = false;  // for steps about a mode
  bool operator==(const Step&) const = default;
};

// The steps of all GPUs, one GPU after another, in execution order.
struct Change {
  Layout from;  // current layout of the GPUs in `to`
  Layout to;
  std::vector<Step> steps;  // empty: no difference
  bool operator==(const Change&) const = default;
};

// GPU instances in which a compute instance found no room next to those that stay. If their compute
// instances must change, all of them are recreated.
using Crowded = std::set<std::pair<gpu::GpuUuid, gpu::Placement>>;

// kInvalidArgument: a GPU of `to` is not in `from`. `mode_needs_reset`: whether the GPU's mode
// takes effect only at a reset.
Result<Change> make_change(const Layout& from, const Layout& to,
                           const std::function<bool(const gpu::GpuUuid&)>& mode_needs_reset,
                           const Crowded& crowded = {});

// The GPU's instances that are removed: their users must end first. If the mode changes, these are
// all instances; with MIG mode off the whole GPU is in use: `whole_gpu`. An instance whose compute
// instances may have to be recreated, because another one finds no room next to them, counts too:
// the driver decides where compute instances may start, so it may turn out that none is removed.
struct Leaving {
  std::vector<Instance> instances;
  bool whole_gpu = false;  // MIG mode is switched, so users of the GPU itself must end
};
Leaving leaving(const gpu::MigState& from, const GpuLayout& to, const gpu::MigGeometry& geometry);

// "destroy 3g.40gb at 4 of GPU 2"
std::string describe(const Step& step, const gpu::MigGeometry& geometry, int gpu_index);

}  // namespace tranche::mig
