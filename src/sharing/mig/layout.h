#pragma once
// Layouts: what GPUs are cut into, or shall be. Values.
//
// A wish is what people write ("3g.40gb: 1, 1g.10gb: 2"); it has no places. A layout has them.
// A plan goes from the layout that a GPU has to one that meets a wish (mig/change.h).

#include <map>
#include <string>
#include <vector>

#include "gpu/ids.h"
#include "gpu/mig_control.h"
#include "gpu/mig_profile.h"

namespace tranche::mig {

// A GPU instance in its place, with its compute instances.
struct Instance {
  int profile_id = 0;
  gpu::Placement placement;
  // Compute slices of each compute instance, in the order of their starts. One that takes all
  // slices is the rule. Empty: the GPU instance has none, so it is no MIG device.
  std::vector<int> compute;
  auto operator<=>(const Instance&) const = default;
};

// What one GPU is cut into.
struct GpuLayout {
  bool enabled = false;             // MIG mode
  std::vector<Instance> instances;  // by start
  // The other mode is set already, and comes at the next reset or reboot. A mode that somebody set
  // is a part of what a GPU has; no wish has one that waits.
  bool waits = false;
  bool operator==(const GpuLayout&) const = default;

  bool mode_to_come() const { return enabled != waits; }
};

// The layout of each GPU that is spoken of.
using Layout = std::map<gpu::GpuUuid, GpuLayout>;

// What is wished of one GPU, as a mig-parted file or a command line has it.
struct GpuWish {
  bool enabled = true;
  // MIG devices by the name of their profile, as written: "3g.40gb", "1c.3g.40gb", "1g.10gb+me".
  // Several compute instances of one size of GPU instance share GPU instances as far as they fit.
  std::map<std::string, int> devices;
  bool operator==(const GpuWish&) const = default;
};

Instance instance_of(const gpu::GpuInstance& instance);
GpuLayout layout_of(const gpu::MigState& state);

// Whether no compute instance is in these slices of their GPU instance.
bool is_free(const std::vector<gpu::ComputeInstance>& compute, int start, int slices);
// Of the whole GPU instance; of a profile that the geometry lacks, the most that there can be.
int compute_slices_of(const gpu::MigGeometry& geometry, int profile_id);

// What becomes of `asked` on a GPU that has `has`. A mode that was to wait may have come meanwhile:
// then the GPU is as the reset left it. None is made to wait where instances are to be, for the
// driver takes none beside them.
GpuLayout as_it_can_be(const GpuLayout& asked, const GpuLayout& has);

// Whether a reboot alone makes this mode of it. It puts in force what waits where the mode needs a
// reset (Ampere keeps it), and turns MIG off elsewhere. What it does not explain, somebody set.
bool explained_by_reboot(const GpuLayout& before, bool enabled_now, bool mode_needs_reset);

// "3g.40gb, 2g.20gb, 1g.10gb x 2"; "MIG off"; "no instances"; "MIG off (MIG mode on waits
// for a reset)".
std::string describe(const GpuLayout& layout, const gpu::MigGeometry& geometry);
std::string describe(const GpuWish& wish);

// How many MIG devices of each profile the layout has, by the driver's names ("1c.3g.40gb").
std::map<std::string, int> devices_of(const GpuLayout& layout, const gpu::MigGeometry& geometry);

}  // namespace tranche::mig
