// match_profile of gpu/mig_profile.h, apart from it: it needs the tables, which need profiles.

#include <algorithm>

#include "gpu/mig_profile.h"
#include "gpu/mig_tables.h"

namespace tranche::gpu {
namespace {

// At most a twentieth of the larger.
bool nearly_same(std::uint64_t a, std::uint64_t b) {
  const auto [small, large] = std::minmax(a, b);
  return (large - small) * 20 <= large;
}

bool is_meant(const GpuInstanceProfile& profile, std::string_view name, const MigName& wanted) {
  if (same_profile(profile.id, profile.name, name)) return true;
  const auto own = parse_mig_name(profile.name);
  return own && wanted.gpu_slices == own->gpu_slices && wanted.kind == own->kind &&
         nearly_same(wanted.memory_gb, own->memory_gb);
}

}  // namespace

const GpuInstanceProfile* match_profile(const MigGeometry& geometry, std::string_view name) {
  const auto exact = std::ranges::find(geometry.profiles, name, &GpuInstanceProfile::name);
  if (exact != geometry.profiles.end()) return &*exact;
  const auto wanted = parse_mig_name(name);
  if (!wanted || name != gpu_instance_name(name)) return nullptr;
  const GpuInstanceProfile* found = nullptr;
  for (const auto& profile : geometry.profiles) {
    if (!is_meant(profile, name, *wanted)) continue;
    if (found != nullptr) return nullptr;
    found = &profile;
  }
  return found;
}

}  // namespace tranche::gpu
