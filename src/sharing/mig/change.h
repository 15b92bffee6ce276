#pragma once
// The way from the layout that GPUs have to the layout that they shall have, as steps that each can
// be undone. Pure. Only GPUs that differ have steps, and of those only the instances that differ.

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
    kSetModeToCome,  // to `enabled`, which is the one in force or is to wait for a reset
    kSetMode,        // to `enabled`
    kReset,          // only where the driver says that the mode needs one
    kCreateGpuInstance,
    kCreateCompute,
  };
  Kind kind = Kind::kSetMode;
  gpu::GpuUuid gpu;
  Instance instance;  // of those that speak of one
  std::size_t compute = 0;
  bool enabled = false;  // a mode
  bool operator==(const Step&) const = default;
};

// The steps of all GPUs, one GPU after the other, in the order in which they are taken.
struct Change {
  Layout from;  // of the GPUs of `to`
  Layout to;
  std::vector<Step> steps;  // empty: nothing differs
  bool operator==(const Change&) const = default;
};

// GPU instances in which a compute instance found no place beside those that stay. Where theirs are
// to be others, all of them are made anew.
using Crowded = std::set<std::pair<gpu::GpuUuid, gpu::Placement>>;

// kInvalidArgument: a GPU of `to` is not in `from`. `mode_needs_reset`: whether the GPU's mode
// takes effect at a reset only.
Result<Change> make_change(const Layout& from, const Layout& to,
                           const std::function<bool(const gpu::GpuUuid&)>& mode_needs_reset,
                           const Crowded& crowded = {});

// The instances of the GPU that go: of those what holds them must end first. All of them where the
// mode changes. In MIG mode off, the whole GPU is used: `whole_gpu`. An instance whose compute
// instances may have to be made anew, because another one finds no place beside them, counts too:
// where compute instances may begin is the driver's matter, so it may turn out that none goes.
struct Leaving {
  std::vector<Instance> instances;
  bool whole_gpu = false;  // MIG mode goes on or off, so who holds the GPU itself must end
};
Leaving leaving(const gpu::MigState& from, const GpuLayout& to, const gpu::MigGeometry& geometry);

// "destroy 3g.40gb at 4 of GPU 2"
std::string describe(const Step& step, const gpu::MigGeometry& geometry, int gpu_index);

}  // namespace tranche::mig
