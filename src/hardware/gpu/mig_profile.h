#pragma once
// What a MIG-capable GPU can be cut into: its GPU instance profiles and where each may begin. A
// driver tells it of the GPUs that are there (nvmlDeviceGetGpuInstanceProfileInfoV,
// nvmlDeviceGetGpuInstancePossiblePlacements_v2); gpu/mig_tables.h has it of models, for planning
// without hardware. Values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "gpu/mig_name.h"

namespace tranche::gpu {

// Memory slices in a row, as nvmlGpuInstancePlacement_t has them.
struct Placement {
  int start = 0;
  int size = 0;

  int end() const { return start + size; }
  auto operator<=>(const Placement&) const = default;
};

// nvmlDeviceGetAttributes_v2 of a MIG device, or the same of a profile.
struct MigAttributes {
  Bytes memory;  // NVML reports whole MiB
  int multiprocessors = 0;
  int copy_engines = 0;
  int decoders = 0;
  int encoders = 0;
  int jpeg_engines = 0;
  int ofa_engines = 0;
  auto operator<=>(const MigAttributes&) const = default;
};

struct GpuInstanceProfile {
  // As the driver, or the table, spells it: "1g.10gb+me". It changes with the driver.
  std::string name;
  // nvmlGpuInstanceProfileInfo_t::id, which nvidia-smi prints: 19, 14, 9. It does not change.
  int id = 0;
  MigKind kind = MigKind::kPlain;
  int compute_slices = 0;
  int memory_slices = 0;    // of a placement
  int max_instances = 0;    // of this profile, on an empty GPU
  std::vector<int> starts;  // memory slices where an instance may begin, ascending
  // nullopt: nobody tells them.
  std::optional<MigAttributes> attributes;
  bool operator==(const GpuInstanceProfile&) const = default;
};

// The profiles of one GPU, or of one model. Empty: it has no MIG.
struct MigGeometry {
  int compute_slices = 0;  // of the whole GPU: 7, 4
  int memory_slices = 0;   // 8, 4, 12
  std::vector<GpuInstanceProfile> profiles;

  bool empty() const { return profiles.empty(); }
  // nullptr: there is none.
  const GpuInstanceProfile* find(int id) const;
  bool operator==(const MigGeometry&) const = default;
};

// The profile that a name asks for: the one of that name, else the one that other drivers call so.
// Names differ by driver branch in their GB alone ("3g.47gb", "3g.48gb"), so slices and kind must
// be the same and the GB at most a twentieth apart, or the name is a known other name
// (gpu/mig_tables.h). nullptr: none, or more than one.
const GpuInstanceProfile* match_profile(const MigGeometry& geometry, std::string_view name);

}  // namespace tranche::gpu
