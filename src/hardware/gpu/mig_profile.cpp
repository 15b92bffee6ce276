#include "gpu/mig_profile.h"

#include <algorithm>

namespace tranche::gpu {

const GpuInstanceProfile* MigGeometry::find(int id) const {
  const auto found = std::ranges::find(profiles, id, &GpuInstanceProfile::id);
  return found == profiles.end() ? nullptr : &*found;
}

}  // namespace tranche::gpu
