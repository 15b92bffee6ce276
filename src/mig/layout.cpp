#include "mig/layout.h"

namespace tranche::mig {

GpuLayout layout_of(const gpu::MigState& state) {
  GpuLayout layout{.enabled = state.enabled, .instances = {}};
  for (const auto& instance : state.instances) {
    Instance one{.profile_id = instance.profile_id, .placement = instance.placement, .compute = {}};
    for (const auto& compute : instance.compute) one.compute.push_back(compute.slices);
    layout.instances.push_back(std::move(one));
  }
  return layout;
}

}  // namespace tranche::mig
