#pragma once
// A place on a GPU where an instance is created for a claim, and removed after it. Values.

#include <optional>
#include <string>
#include <string_view>

#include "gpu/ids.h"
#include "gpu/machine.h"
#include "gpu/mig_profile.h"

namespace tranche::dra {

struct MigPlace {
  gpu::GpuUuid gpu;
  int profile_id = 0;  // GpuInstanceProfile::id
  gpu::Placement at;   // memory slices
  auto operator<=>(const MigPlace&) const = default;
};

// Whether both need some of the same memory slices of one GPU.
bool overlap(const MigPlace& a, const MigPlace& b);

// Resolves `name` in the pool (dra/names.h, mig_device_name()). nullopt: no GPU of the machine has
// that place.
struct NamedPlace {
  const gpu::Gpu* gpu;
  const gpu::GpuInstanceProfile* profile;
  MigPlace place;
};
std::optional<NamedPlace> find_place(const gpu::Machine& machine, std::string_view name);

}  // namespace tranche::dra
