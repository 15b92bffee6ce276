#pragma once
// Layouts: how GPUs are partitioned, or should be. Values.
//
// A wish is what people write ("3g.40gb: 1, 1g.10gb: 2"); it has no placements. A layout has them.
// A plan leads from a GPU's current layout to one that meets a wish (mig/change.h).

#include <map>
#include <string>
#include <vector>

#include "gpu/ids.h"
#include "gpu/mig_control.h"
#include "gpu/mig_profile.h"

namespace tranche::mig {

// A GPU instance with its placement and compute instances.
struct Instance {
  int profile_id = 0;
  gpu::Placement placement;
  // Compute slices of each compute instance, in the order of their starts. Usually there is one
  // with all slices. Empty: the GPU instance has none, so it is not a MIG device.
  std::vector<int> compute;
  auto operator<=>(const Instance&) const = default;
};

// How one GPU is partitioned.
struct GpuLayout {
  bool enabled = false;             // MIG mode
  std::vector<Instance> instances;  // by start
  // The other mode is already set and takes effect at the next reset or reboot. Such a pending mode
  // is part of a GPU's current layout; a wish never has one.
  bool waits = false;
  bool operator==(const GpuLayout&) const = default;

  bool mode_to_come() const { return enabled != waits; }
};

// The layout of each GPU concerned.
using Layout = std::map<gpu::GpuUuid, GpuLayout>;

// The wished partitioning of one GPU, from a mig-parted file or a command line.
struct GpuWish {
  bool enabled = true;
  // Number of MIG devices by profile name, as written: "3g.40gb", "1c.3g.40gb", "1g.10gb+me".
  // Compute instances for the same size of GPU instance share GPU instances as far as they fit.
  std::map<std::string, int> devices;
  bool operator==(const GpuWish&) const = default;
};

Instance instance_of(const gpu::GpuInstance& instance);
GpuLayout layout_of(const gpu::MigState& state);

// Whether no compute instance occupies these slices of its GPU instance.
bool is_free(const std::vector<gpu::ComputeInstance>& compute, int start, int slices);
// The compute slices of the whole GPU instance; for a profile missing in the geometry, the maximum
// possible.
int compute_slices_of(const gpu::MigGeometry& geometry, int profile_id);

// The achievable form of `asked` on a GPU whose layout is `has`. A mode that was to be pending may
// have taken effect meanwhile: then the GPU stays as the reset left it. No pending mode is set
// where instances are wanted, because the driver allows none next to it.
GpuLayout as_it_can_be(const GpuLayout& asked, const GpuLayout& has);

// Whether a reboot alone explains this mode. A reboot activates a pending mode where the mode needs
// a reset (Ampere keeps it), and turns MIG off elsewhere. Any other mode was set by someone.
bool explained_by_reboot(const GpuLayout& before, bool enabled_now, bool mode_needs_reset);

// "3g.40gb, 2g.20gb, 1g.10gb x 2"; "MIG off"; "no instances"; "MIG off (MIG mode on waits
// for a reset)".
std::string describe(const GpuLayout& layout, const gpu::MigGeometry& geometry);
std::string describe(const GpuWish& wish);

// The layout's number of MIG devices per profile, by the driver's names ("1c.3g.40gb").
std::map<std::string, int> devices_of(const GpuLayout& layout, const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
