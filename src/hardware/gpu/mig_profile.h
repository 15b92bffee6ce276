#pragma once
// How a MIG-capable GPU can be partitioned: its GPU instance profiles and where each may start. The
// driver reports it for the present GPUs (nvmlDeviceGetGpuInstanceProfileInfoV,
// nvmlDeviceGetGpuInstancePossiblePlacements_v2); gpu/mig_tables.h has it per model, for planning
// without hardware. Values.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "gpu/mig_name.h"

namespace tranche::gpu {

// Consecutive memory slices, as in nvmlGpuInstancePlacement_t.
struct Placement {
  int start = 0;
  int size = 0;

  int end() const { return start + size; }
  auto operator<=>(const Placement&) const = default;
};

// nvmlDeviceGetAttributes_v2 of a MIG device, or the same for a profile.
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
  // As spelled by the driver or the table: "1g.10gb+me". It varies by driver.
  std::string name;
  // nvmlGpuInstanceProfileInfo_t::id, which nvidia-smi prints: 19, 14, 9. It never varies.
  int id = 0;
  MigKind kind = MigKind::kPlain;
  int compute_slices = 0;
  int memory_slices = 0;    // of a placement
  int max_instances = 0;    // of this profile, on an empty GPU
  std::vector<int> starts;  // memory slices where an instance may start, ascending
  // nullopt: unknown.
  std::optional<MigAttributes> attributes;
  bool operator==(const GpuInstanceProfile&) const = default;
};

// The profiles of one GPU or one model. Empty: no MIG.
struct MigGeometry {
  int compute_slices = 0;  // of the whole GPU: 7, 4
  int memory_slices = 0;   // 8, 4, 12
  std::vector<GpuInstanceProfile> profiles;

  bool empty() const { return profiles.empty(); }
  // nullptr: no such profile.
  const GpuInstanceProfile* find(int id) const;
  bool operator==(const MigGeometry&) const = default;
};

// The profile that a name refers to: the one with that name, or else the one that other drivers
// call so. Between driver branches names differ only in their GB ("3g.47gb", "3g.48gb"). So slices
// and kind must match and the GB may differ by at most a twentieth, or the name is a known alias
// (gpu/mig_tables.h). nullptr: none, or more than one.
const GpuInstanceProfile* match_profile(const MigGeometry& geometry, std::string_view name);

}  // namespace tranche::gpu
